/** Small chat templates of the known families, written for these tests. */

/** ChatML: every message between markers. */
export const chatMl = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** Llama 3 style: role headers, trimmed content, a begin token, JSON tool calls. */
export const headers = `{{ bos_token }}{% if tools %}<|start_header_id|>system<|end_header_id|>

{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|eot_id|>{% endif %}{% for message in messages -%}
<|start_header_id|>{{ message.role }}<|end_header_id|>

{% if message.tool_calls %}{% set call = message.tool_calls[0].function -%}
{"name": "{{ call.name }}", "parameters": {{ call.arguments | tojson }}}{% else -%}
{{ message.content | trim }}{% endif %}<|eot_id|>{% endfor %}{% if add_generation_prompt -%}
<|start_header_id|>assistant<|end_header_id|>

{% endif %}`;

/** Qwen3 style: Hermes tool calls, and the reasoning of answers before the last question is dropped. */
export const dropsThinking = `{% if tools %}<|im_start|>system
# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}{% set found = namespace(last=0) %}{% for message in messages %}{% if message.role == "user" %}{% set found.last = loop.index0 %}{% endif %}{% endfor %}{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "assistant" and message.reasoning_content and loop.index0 > found.last %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}{% if message.content or not loop.first %}
{% endif %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** DeepSeek R1 style: the generation prompt opens the reasoning, and no earlier reasoning is kept. */
export const opensThinking = `{% for message in messages %}{% if message.role == "assistant" %}<|im_start|>assistant
{{ message.content.split("</think>")[-1] | trim }}{% else %}<|im_start|>{{ message.role }}
{{ message.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}`;

/** No special token ends a turn. */
export const plainHeadings = `{% for message in messages %}{{ message.role }}: {{ message.content }}

{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}`;
