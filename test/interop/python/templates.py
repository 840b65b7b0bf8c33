"""Chat templates written for this suite, using the Jinja features that the templates of real models use."""

# One block for each message; a default system message; blank control lines that trimming must remove.
CHATML = """\
{% if messages[0].role != 'system' %}
{{ '<|im_start|>system\\nBe brief and exact.<|im_end|>\\n' }}
{%- endif %}
{% for message in messages %}
  {%- set text = message['content'] | trim %}
{{- '<|im_start|>' ~ message['role'] ~ '\\n' ~ text ~ '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

# Role headers in special tokens, a macro, the beginning-of-text token, tools as indented JSON, slices of messages.
HEADERS = """\
{%- macro block(role, text) %}{{ '<|start_header_id|>' + role + '<|end_header_id|>\\n\\n' + text + '<|eot_id|>' }}
{%- endmacro %}
{{- bos_token }}
{%- set has_system = messages[0].role == 'system' %}
{%- set instructions = (messages[0].content if has_system else 'Today is Monday.') %}
{%- if tools is defined and tools %}
    {%- set instructions = instructions ~ '\\n\\nYour tools:' %}
    {%- set listing = namespace(text='') %}
    {%- for tool in tools %}
        {%- set listing.text = listing.text ~ '\\n\\n' ~ (tool.function | tojson(indent=4)) %}
    {%- endfor %}
    {%- set instructions = instructions ~ listing.text %}
{%- endif %}
{{- block('system', instructions) }}
{%- for message in (messages[1:] if has_system else messages) %}
    {%- if message.role == 'tool' %}
{{- block('ipython', message.content | tojson) }}
    {%- elif message.tool_calls is defined and message.tool_calls %}
        {%- if message.tool_calls | length > 1 %}{{ raise_exception('One call at a time.') }}{% endif %}
        {%- set called = message.tool_calls[0].function %}
{{- block('assistant', {'name': called.name, 'parameters': called.arguments} | tojson) }}
    {%- elif message.role in ['user', 'assistant'] %}
{{- block(message.role, message.content | trim) }}
    {%- else %}
{{- raise_exception('Unknown role: ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

# Thinking is shown only after the last user message, so rendering is not prefix-stable. Tool results that follow
# one another share one block.
THINKING = """\
{%- set state = namespace(last_user=-1, in_results=false) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set state.last_user = loop.index0 %}{% endif %}
{%- endfor %}
{%- if tools %}
{{- '<|im_start|>system\\n' ~ (messages[0].content ~ '\\n' if messages[0].role == 'system' else '') ~ 'Functions:' }}
    {%- for tool in tools %}{{ '\\n' ~ (tool | tojson) }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if state.in_results and message.role != 'tool' %}
        {%- set state.in_results = false %}
{{- '<|im_end|>\\n' }}
    {%- endif %}
    {%- if message.role == 'tool' %}
        {%- if not state.in_results %}{{ '<|im_start|>user' }}{% endif %}
        {%- set state.in_results = true %}
{{- '\\n<result>' ~ message.content ~ '</result>' }}
    {%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
        {%- if message.reasoning_content is defined and message.reasoning_content is string %}
            {%- set thought, said = message.reasoning_content, message.content %}
        {%- elif '</think>' in message.content %}
            {%- set pieces = message.content.split('</think>') %}
            {%- set thought = pieces[0].replace('<think>', '') %}
            {%- set said = pieces[-1] %}
        {%- else %}
            {%- set thought, said = '', message.content %}
        {%- endif %}
        {%- if thought and loop.index0 > state.last_user %}
{{- '<think>\\n' ~ thought.strip('\\n') ~ '\\n</think>\\n\\n' }}
        {%- endif %}
{{- said.lstrip('\\n') }}
        {%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n' ~ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}
{{- '\\n</tool_call>' }}
        {%- endfor %}
{{- '<|im_end|>\\n' }}
    {%- elif not (tools and loop.first and message.role == 'system') %}
{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if state.in_results %}{{ '<|im_end|>\\n' }}{% endif %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

# No special token but beginning and end of text; the system message is part of the first question; roles alternate.
INSTRUCTIONS = """\
{%- set preface = '' %}
{%- if messages[0]['role'] == 'system' %}
    {%- set preface = '(' ~ messages[0]['content'] ~ ')\\n\\n' %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (loop.index0 is even) != (message['role'] == 'user') %}
        {{- raise_exception('Roles must alternate, the user first.') }}
    {%- endif %}
    {%- if loop.index0 is even %}
        {{- bos_token ~ '[INST] ' ~ (preface if loop.first else '') ~ message['content'].strip() ~ ' [/INST]' }}
    {%- else %}
        {{- ' ' ~ message['content'] | trim ~ eos_token }}
    {%- endif %}
{%- endfor %}
"""

TEMPLATES = {"chatml": CHATML, "headers": HEADERS, "thinking": THINKING, "instructions": INSTRUCTIONS}
