/** Chat templates that inspect the texts of messages, written for these tests in the style of known families. */
export const inspectingTemplates: Readonly<Record<string, string>> = {
  /** The role is written between the halves of a token. */
  roleTokens: `{% for message in messages %}{{ '<|' ~ message.role ~ '|>\\n' ~ message.content ~ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}`,

  /** The name of a message is written between the halves of a token. */
  nameTokens: `{% for message in messages %}<|im_start|>{{ message.role }}<|{{ message.name or 'x' }}|>{{ message.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant<|x|>{% endif %}`,

  /** Content is next to the halves of a token on both sides, and in another case. */
  touching: `{% for message in messages %}<{{ (message.name or '') | lower }}><|im_start|>{{ message.role }}\n<|{{ message.content }}|><{{ message.content }}im_end|><|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<|{% endif %}`,

  /** A switch in the system message is removed from it. */
  removesSwitches: `{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content.replace('/no_think', '').replace('/think', '') | trim }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`,

  /** Reasoning is removed from answers, and a text in result tags does not count as a question. */
  cutsReasoning: `{% for message in messages %}{% if message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>') %}<|im_start|>tool\n{{ message.content }}{% elif '</think>' in message.content %}<|im_start|>{{ message.role }}\n<think>\n{{ message.content.split('</think>')[0].split('<think>')[-1].strip('\\n') }}\n</think>\n\n{{ message.content.split('</think>')[-1].lstrip('\\n') }}{% else %}<|im_start|>{{ message.role }}\n{{ message.content }}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`,

  /** Text is written character by character, and again without its ends. */
  characters: `{% for message in messages %}<|im_start|>{{ message.role }}\n{% for i in range(message.content | length) %}{{ message.content[i] }}{% endfor %}<{{ message.content[1:] }}|{{ message.content[:-1] }}>{{ message.content | upper }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`,

  /** Angle brackets are escaped, and texts are written as ASCII JSON. */
  escapes: `{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content | replace('<', '&lt;') }} {{ message.content | tojson(ensure_ascii=true) }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`,

  /** Calls are written as tags of their names and arguments, schemas with their keys. */
  argumentTags: `{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool.function.name }}: {{ tool.function.description }}{% for name, schema in tool.function.parameters.properties.items() %}<{{ name }}>{% if schema.type == 'string' %}text{% else %}{{ schema | tojson }}{% endif %}</{{ name }}>{% endfor %}{% endfor %}<|im_end|>\n{% endif %}{% for message in messages %}<|im_start|>{{ message.role }} {{ message.name or '' }} {{ message.tool_call_id or '' }}\n{{ message.reasoning_content or '' }}{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% for key, value in call.function.arguments.items() %}<{{ key }}>{{ value }}</{{ key }}>{% endfor %}{{ call.id }}{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{{ note or '' }}`,
};
