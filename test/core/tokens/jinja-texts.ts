/**
 * Templates with the texts of Jinja 3.1 in Python, in the environment that transformers makes. The interop suite
 * (`chat-template-corpus`) has Jinja itself render them.
 */
export const jinjaTexts: readonly (readonly [source: string, text: string])[] = [
  [
    "{{ true }} {{ none }} {{ [1, 'a', none, true, 2.5] }} {{ {'a': [1], 'b': \"it's\"} }} {{ (1, 'x') }}",
    "True None [1, 'a', None, True, 2.5] {'a': [1], 'b': \"it's\"} (1, 'x')",
  ],
  [
    "{{ none | string }}|{{ true | string }}|{{ [1, 'a'] | string }}|{{ 1.0 }}|{{ 1 / 1000000 }}|{{ 2 | string | length }}",
    "None|True|[1, 'a']|1.0|1e-06|1",
  ],
  [
    "{{ 'a' ~ none ~ true ~ [1, 'b'] ~ 5 ~ 2.0 }}|{{ missing }}|{{ missing | length }}|{{ 'a' ~ missing }}",
    "aNoneTrue[1, 'b']52.0||0|a",
  ],
  ["{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 3 }} {{ 2 ** 3 }} {{ 7 / 2 }} {{ 'ab' * 3 }}", "2 -2 -3 8 3.5 ababab"],
  [
    "{{ 'hELLO wORLD' | capitalize }} {{ 'hELLO'.capitalize() }} {{ '\u00c4B'.lower() }} {{ 5 | upper }}",
    "Hello world Hello \u00e4b 5",
  ],
  [
    "{{ 1 == '1' }} {{ 1 == true }} {{ [1] == [1] }} {{ {'a': 1} == {'a': 1} }} {{ none == missing }} {{ 1 == 1.0 }} {{ 'a' != none }}",
    "False True True True False True True",
  ],
  [
    "{{ [1] in [[1], 2] }} {{ '1' in [1] }} {{ none in [none] }} {{ missing in [1] }} {{ 'a' not in ['a'] }} {{ 'x' in {'x': 1} }}",
    "True False True False False True",
  ],
  [
    "{% for c in 'a\u00e9\ud83d\ude00' %}[{{ c }}]{% endfor %}{% for x in missing %}x{% else %}none{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}",
    "[a][\u00e9][\ud83d\ude00]nonea",
  ],
  ["{% for c in 'abc' if c != 'b' %}{{ loop.index }}{{ c }}{% endfor %}", "1a2c"],
  [
    "{{ {'a': 1} is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ missing is iterable }} {{ [1] is not iterable }}",
    "True True False True False",
  ],
  [
    "{{ 'abc' | first }}{{ 'abc' | last }}{{ [] | first }}{{ 'abc' | list }}{{ {'a': 1, 'b': 2} | list }}{{ 'abc' | length }}",
    "ac['a', 'b', 'c']['a', 'b']3",
  ],
  ["{{ [1, 'a', none] | join(', ') }}|{{ 'abc' | join('-') }}|{{ [] | join }}", "1, a, None|a-b-c|"],
  [
    "{{ missing | default('x') }} {{ '' | default('x', true) }} {{ none | default('x') }} {{ [] | d('y', boolean=true) }}",
    "x x None y",
  ],
  ["{{ 'abc' | selectattr('type', 'equalto', 'image') | list | length }}", "0"],
  [
    "{{ 'aXbXc'.find('X') }} {{ 'aXbXc'.rfind('X') }} {{ 'aXbXc'.count('X') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}",
    "1 3 2 bc ab",
  ],
  [
    "{{ ', '.join(['a', 'b']) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'a=b'.partition('=')[2] }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }}",
    "a, b ['a-b', 'c'] b True True",
  ],
  [
    "{{ 'a\\nb\\n'.splitlines() }} {{ ''.splitlines() }} {{ '\\n'.splitlines() }} {{ ' '.isspace() }}",
    "['a', 'b'] [] [''] True",
  ],
  [
    "{{ 1.0 | tojson }} {{ {'b': 1, 'a': [true, none, '\u00e9<']} | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}",
    '1.0 {"b": 1, "a": [true, null, "\u00e9<"]} {"a": 2, "b": 1}',
  ],
  [
    "{{ {'a': [1, {}], 'b': []} | tojson(indent=2) }}{{ '\u00e9' | tojson(ensure_ascii=true) }}{{ [1, 2] | tojson(separators=(',', ':')) }}",
    '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}"\\u00e9"[1,2]',
  ],
  ["a\r\nb{% if true %}\r\nc\r\n{% endif %}\r\nd\r\n", "a\nbc\nd"],
  [
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(none) }}{{ m([1, 'a']) }}{% set y %}{{ true }}{% endset %}{{ y }}",
    "<None><[1, 'a']>True",
  ],
  [
    "{{ (1,) }}{{ () }}{{ (1, 2,) }}{{ ((),) }}{{ [(1,)] }}{{ (1) }}{{ ('a',)[0] }}{{ 'b' in ('b',) }}{{ ('a', ) | length }}",
    "(1,)()(1, 2)((),)[(1,)]1aTrue1",
  ],
  [
    "{% set x = 1, %}{{ x }}{% set a, b = (1, 2,) %}{{ a + b }}{% for (a, b) in [(1, 2,)] %}{{ a }}{% endfor %}{{ 'abc'.count('a',) }}",
    "(1,)311",
  ],
  [
    "{{ 1e-7 }} {{ 1E5 }} {{ 2.5e3 }} {{ 1e+2 }} {{ -1e-7 }} {{ 1e16 }} {{ 1e2 | int }} {{ [1e3, 2e-3] }} {{ 3 if 1e0 else 4 }}",
    "1e-07 100000.0 2500.0 100.0 -1e-07 1e+16 100 [1000.0, 0.002] 3",
  ],
  [
    "{{ 9 is divisibleby(3) }} {{ 9 is divisibleby 4 }} {{ 9 is not divisibleby(4) }} {{ 9 is divisibleby(3) and true }} {{ not 9 is divisibleby(3) }}",
    "True False True True False",
  ],
  [
    "{{ 1 is eq 1 }} {{ 1 is equalto('1') }} {{ 1 is ne(2) }} {{ 2 is gt 1 }} {{ 2 is ge(2) }} {{ 1 is lt(1) }} {{ 1 is le 1 }} {{ 2 is greaterthan(1) }} {{ 2 is lessthan 1 }}",
    "True False True True True False True True False",
  ],
  [
    "{{ none is sameas none }} {{ 1 is sameas(true) }} {{ false is sameas false }} {{ 0 is sameas(false) }} {{ 'a' is eq('a') and 'b' is not eq('a') or false }}",
    "True False True False True",
  ],
  [
    "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for p in [(1, 2)] %}{{ p }}{% endfor %}",
    "a1(1, 2)",
  ],
  [
    "{{ {'is': 1}.is }} {{ {'in': (1,)}['in'] }} {{ 1 is defined }} {{ 1 is string }} {{ (1 is number) }} {{ 3 is odd and (3) }}",
    "1 (1,) True False True 3",
  ],
  ["{{ \"a'b\" | list }}{{ ['a\\\\b\\n\\t', '\\x00\\u200b'] }}", "['a', \"'\", 'b']['a\\\\b\\n\\t', '\\x00\\u200b']"],
  ["{{ [1,2,] }} {{ {'a': 1,} }}", "[1, 2] {'a': 1}"],
  ["{{ (1,)[0] + (2,)[0] }}", "3"],
  ["{{ 'a' if 3 is divisibleby(3) else 'b' }}", "a"],
  ["{{ 1 is eq(1,) }}", "True"],
  ["{{ ('a' 'b',) }}", "('ab',)"],
  ["{{ 2 is divisibleby(1 + 1) }} {{ 2 is divisibleby((2,)[0]) }} {{ 4 is divisibleby(2) is true }}", "True True True"],
  ["{{ 0.5e1 }} {{ 1e-05 }} {{ 12e3 }}", "5.0 1e-05 12000.0"],
  ["{{ missing is eq(none) }} {{ missing is in [1] }}", "False False"],
  ["{{ 5 is ge 5 }} {{ 5 is gt(4) and 5 is lt 6 }}", "True True"],
  ["{{ [1, 0, none, 'a', ''] | select | list }}", "[1, 'a']"],
  ["{{ [1, 2, 3] | select('odd') | list }}", "[1, 3]"],
  ["{{ [1, 2, 3] | reject('odd') | list }}", "[2]"],
  ["{{ [1, none, 'a'] | reject('none') | list }}", "[1, 'a']"],
  ["{{ ['a', 'b'] | select('in', ['a']) | list }}", "['a']"],
  ["{{ ['a', 'b'] | reject('equalto', 'a') | join(',') }}", "b"],
  ["{{ [3, 4] | select('divisibleby', 2) | first }}", "4"],
  ["{{ [1, 0] | reject | list }}", "[0]"],
  ["{{ 'abc' | select('ne', 'b') | join }}", "ac"],
  ["{{ {'a': 1, 'b': 0} | select('eq', 'a') | list }}", "['a']"],
  ["{{ missing | select | list }}", "[]"],
  ["{{ [1,2,3] | select('gt', 1) | map('string') | join('-') }}", "2-3"],
  [
    "{{ 3 * true }} {{ true * 2 }} {{ true + true }} {{ 3 - true }} {{ true * 'ab' }} {{ false * 'ab' }} {{ 'ab' * true }} {{ true / 2 }} {{ 7 // true }} {{ 7 % true }} {{ true < 2 }} {{ true >= 1 }} {{ 2.5 * true }} {{ -true }} {{ +false }} {{ 2 ** true }}",
    "3 2 2 2 ab  ab 0.5 7 0 True True 2.5 -1 0 2",
  ],
  [
    "{{ true * true }} {{ true and 3 * false }} {{ [1] * 2 }} {{ 2 * [1, 2] }} {{ [1] * true }} {{ (1, 2) * 2 }}",
    "1 0 [1, 1] [1, 2, 1, 2] [1] (1, 2, 1, 2)",
  ],
  ["{{ [1] + [2] }} {{ (1,) + (2,) }}", "[1, 2] (1, 2)"],
  ["{% for (a,) in [[1]] %}{{ a }}{% endfor %}", "1"],
  ["{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"],
  ["{% for a, (b, c) in {'x': (1, 2)}.items() %}{{ a }}{{ b }}{{ c }}{% endfor %}", "x12"],
  ["{{ 'a' < 'b' }} {{ 'b' <= 'a' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) > (1, 1) }}", "True False True True"],
  ["{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1 == 1 }} {{ 3 < 2 < 5 }}", "True False True False"],
  ["{{ 'abc'[-1] }}{{ 'abc'[1:] }}{{ 'abc'[::-1] }}{{ [1,2,3][:-1] }}{{ [1, 2, 3, 4][1::2] }}", "cbccba[1, 2][2, 4]"],
  ["{% for m in [1,2,3] | reverse %}{{ m }}{% endfor %}", "321"],
  ["{{ [{'a': 1}, {'b': 2}] | map(attribute='a') | list }}", "[1, Undefined]"],
  ["{{ [{'a': 1}, {'a': 2}] | map(attribute='a', default=0) | sum }}", "3"],
  ["{{ ['a', 'b'] | map('upper') | list }}", "['A', 'B']"],
  ["{{ [' a '] | map('trim') | list }}", "['a']"],
  ["{{ [[1, 2], [3]] | sum(start=[]) }}", "[1, 2, 3]"],
  ["{{ [1, 2, 3] | sum }} {{ [1.5, 2] | sum }} {{ [] | sum }}", "6 3.5 0"],
  ["{{ [3, 1, 2] | sort }} {{ [3, 1] | max }} {{ [3, 1] | min }} {{ ['b', 'A'] | sort }}", "[1, 2, 3] 3 1 ['A', 'b']"],
  ["{{ [1, 2, 1] | unique | list }} {{ ['a', 'A'] | unique | list }}", "[1, 2] ['a']"],
  ["{{ 'a b' | replace(' ', '_') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 5 | replace('5', 'x') }}", "a_b bba x"],
  [
    "{{ 'hello world' | title }} {{ \"it's o'clock\" | title }} {{ 'hello world'.title() }}",
    "Hello World It's O'clock Hello World",
  ],
  [
    "{{ 3.7 | int }} {{ -3.7 | int }} {{ '3.7' | int }} {{ '12abc' | int }} {{ 'x' | int(5) }} {{ '0x1A' | int(base=16) }} {{ none | int }} {{ ' 12 ' | int }}",
    "3 -3 3 0 5 26 0 12",
  ],
  [
    "{{ '3.5' | float }} {{ 'x' | float }} {{ '1e3' | float }} {{ '2x' | float(1.5) }} {{ 3 | float }}",
    "3.5 0.0 1000.0 1.5 3.0",
  ],
  [
    "{{ 3.14159 | round(2) }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 7 | round }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ 2.675 | round(2) }}",
    "3.14 2.0 4.0 7 3.0 2.0 2.67",
  ],
  ["{{ -5 | abs }} {{ (-5) | abs }} {{ 5.5 | abs }} {{ true | abs }}", "5 5 5.5 1"],
  [
    "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value') }}",
    "[('a', 2), ('b', 1)] [('b', 1), ('a', 2)]",
  ],
  [
    "{{ {'a': 1} | items | list }} {{ {'a': 1}.items() | list }} {{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }} {{ {'a': 1} | list }}",
    "[('a', 1)] [('a', 1)] ['a'] [1] ['a']",
  ],
  [
    "{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 'x') }} {{ {}.get('a', {}).get('b') }}",
    "1 None x None",
  ],
  ["{{ {'a': {'b': 1}}['a']['b'] }} {{ {'a': 1}.a }} {{ {'items': 1}['items'] }}", "1 1 1"],
  [
    "{{ [{'a': 1}, {'a': 0}, {}] | selectattr('a') | list }} {{ [{'a': 1}, {}] | rejectattr('a', 'defined') | list }} {{ [{'a': 1}] | selectattr('a', 'gt', 0) | list }} {{ [{'a': {'b': 1}}] | selectattr('a.b', 'eq', 1) | list }}",
    "[{'a': 1}] [{}] [{'a': 1}] [{'a': {'b': 1}}]",
  ],
  [
    "{{ [{'role': 'a'}, {'role': 'b'}] | selectattr('role', 'in', ['a']) | list }} {{ [{'role': 'a'}] | rejectattr('role', 'eq', 'a') | list | length }} {{ [{'role': 'a'}] | selectattr('role', 'ne', 'b') | first }}",
    "[{'role': 'a'}] 0 {'role': 'a'}",
  ],
  ["{% set ns = namespace(x=1, y='a') %}{% set ns.x = ns.x + 1 %}{{ ns.x }}{{ ns.y }}{{ ns.z is defined }}", "2aFalse"],
  [
    "{% set ns = namespace() %}{% set ns.l = [] %}{% for i in range(3) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l }}",
    "[0, 1, 2]",
  ],
  [
    "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "02",
  ],
  [
    "{{ not true }} {{ not missing }} {{ true and 'x' }} {{ none or 'y' }} {{ '' or [] or 'z' }} {{ not (1 == 2) }}",
    "False True x y z True",
  ],
  [
    "{{ missing is none }} {{ none is none }} {{ missing is undefined }} {{ {} is mapping }} {{ [] is sequence }} {{ 'a' is sequence }} {{ {} is sequence }} {{ 1 is integer }} {{ 1.0 is float }} {{ true is boolean }} {{ true is number }} {{ true is integer }} {{ 'a' is string }} {{ (1,) is sequence }}",
    "False True True True True True True True True True True False True True",
  ],
  ["{{ none | upper }}|{{ none | trim }}|{{ 5 | trim }}|{{ [1] | trim }}", "NONE|None|5|[1]"],
  [
    "{{ 12345678901234567890 }} {{ 9007199254740993 }} {{ 2 ** 64 }} {{ 9007199254740993 + 1 }}",
    "12345678901234567890 9007199254740993 18446744073709551616 9007199254740994",
  ],
  ["{{ [1, 2] | join(',') | length }} {{ [{'a': 1}] | join(',', attribute='a') }}", "3 1"],
  [
    "{{ [1, 2, 3][1:2] }}{{ (1, 2, 3)[1:] }}{{ 'abc'[0] }}{{ '\ud83d\ude00b'[1] }}{{ '\ud83d\ude00b'[0] }}",
    "[2](2, 3)ab\ud83d\ude00",
  ],
  [
    "{{ 'a\ud83d\ude00'.find('b') }} {{ '\ud83d\ude00a'.find('a') }} {{ '\ud83d\ude00a' | reverse }} {{ '\ud83d\ude00' | length }}",
    "-1 1 a\ud83d\ude00 1",
  ],
  [
    "{% set x = 5 if false else [] %}{{ x }}{% set y = (1, 2) %}{{ y[0] }}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c, d = 'xy' %}{{ c }}{{ d }}",
    "[]112xy",
  ],
  [
    "{{ (1 < 2) == true }} {{ (1 < 2) < 2 }} {{ 1 < (2 < 3) }} {{ (1 in [1]) in [true] }} {{ (3 > 2) > 2 }} {{ not (1 < 2) == true }}",
    "True True False True False False",
  ],
  [
    "{{ 'abc'.index('b') }} {{ 'x'.rjust(3) }}| {{ 'x'.ljust(3) }}| {{ '-5'.zfill(4) }} {{ 'a'.isupper() }} {{ 'A1'.isupper() }} {{ 'a b c'.rpartition(' ')[0] }} {{ 'aaa'.lstrip('a') }}| {{ 'abcc'.rindex('c') }} {{ 'AB'.casefold() }}",
    "1   x| x  | -005 False True a b | 3 ab",
  ],
  [
    "{{ 'a  b  c'.split(none, 1) }} {{ 'a  b  c'.rsplit(none, 1) }} {{ 'a-b-c'.split('-', maxsplit=1) }} {{ 'a-b'.split(sep='-') }} {{ 'aXXXb'.rsplit('XX', 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ ' a\tb\n'.split() }}",
    "['a', 'b  c'] ['a  b', 'c'] ['a', 'b-c'] ['a', 'b'] ['aX', 'b'] [] [''] ['a', 'b']",
  ],
  [
    "{{ {'items': 1}.items is defined }} {% if {'items': none}.items %}yes{% endif %} {{ {'get': 3}['get'] }} {{ {'values': 3}.values is callable }} {% for k, v in {'items': 5}.items() %}{{ k }}{{ v }}{% endfor %}",
    "True yes 3 True items5",
  ],
  [
    "{{ [1, 2, 3] | sum(start=10) }} {{ [{'a': 2}, {'a': 1}] | sum(attribute='a') }} {{ [] | first is defined }} {{ [] | max is defined }} {{ [2, true] | sort }}",
    "16 3 False False [True, 2]",
  ],
  [
    "{{ 9007199254740993 * 3 }} {{ 9007199254740993 == 9007199254740992 }} {{ 9007199254740993 // 2 }} {{ 9007199254740993 % 10 }} {{ -9007199254740993 }} {{ 9007199254740993 | tojson }} {{ '9007199254740993' | int }} {{ 9007199254740993 > 9007199254740992 }} {{ 9007199254740993 | float }}",
    "27021597764222979 False 4503599627370496 3 -9007199254740993 9007199254740993 9007199254740993 True 9007199254740992.0",
  ],
  [
    "{{ true | int + 1 }} {{ [true, 1] | unique | list }} {{ true in [1] }} {{ {'a': true} == {'a': 1} }} {{ true is sameas true }} {{ true is integer }} {{ 1.0 is integer }} {{ 1 is number }} {{ 'A1' is upper }} {{ '1' is lower }}",
    "2 [True] True True True False False True True False",
  ],
  ["{% for k, v in {'a': {'x': 1}} | dictsort if v.x > 0 %}{{ k }}{{ v.x }}{{ loop.last }}{% endfor %}", "a1True"],
  ["{% for a, b in ['xy'] %}{{ a }}{{ b }}{% endfor %}", "xy"],
  ["{{ '%s is %d%%' % ('a', 3) }} {{ '%s' % [1] }} {{ '%s' % none }} {{ 'a%' ~ 'b' }}", "a is 3% [1] None a%b"],
  ["{{ '{} is {}'.format('a', [1]) }} {{ '{{}}'.format() }} {{ '{1}{0}'.format(true, none) }}", "a is [1] {} NoneTrue"],
  [
    "{{ 1.5 // 0.5 }} {{ -7.5 // 2 }} {{ 7.5 % -2 }} {{ 1e308 * 10 }} {{ 0.1 * 3 }} {{ 2 ** 10 }} {{ 2.0 ** 3 }} {{ 2 ** -2 }} {{ (-2) ** 3 }} {{ 10 ** 20 }}",
    "3.0 -4.0 -0.5 inf 0.30000000000000004 1024 8.0 0.25 -8 100000000000000000000",
  ],
  [
    "{{ 1.25 | round(1) }} {{ 0.5 | round }} {{ 1.5 | round }} {{ -2.5 | round }} {{ 1234.5678 | round(1) }} {{ 1.005 | round(2) }} {{ 5 | round(1) }} {{ 3.14159 | round(3, 'floor') }}",
    "1.2 0.0 2.0 -2.0 1234.6 1.0 5 3.141",
  ],
  [
    "{{ 'hello-world (foo) [bar]' | title }} {{ 'ABC def' | title }} {{ 'a b' | replace('a', '') }} {{ 'abb' | replace('b', 'x', count=1) }}",
    "Hello-World (Foo) [Bar] Abc Def  b axb",
  ],
  [
    "{% macro show(text, tag='b') %}<{{ tag }}>{{ text | trim }}</{{ tag }}>{% endmacro %}{{ show(' a ', tag='i') }}{{ show('b') }}",
    "<i>a</i><b>b</b>",
  ],
  ["{% macro m() %}{{ kwargs.a }}{% endmacro %}{{ m(a=5) }}", "5"],
  [
    "{{ 'ab'[5] }}|{{ 'ab'[0] }}|{{ (1, 2)[0] }}|{{ 'a\ud83d\ude00b'[-2] }}|{{ 'a\ud83d\ude00b'[1:] }}",
    "|a|1|\ud83d\ude00|\ud83d\ude00b",
  ],
  ["{{ 'b' > 'a' and '\u00e9' > 'z' }} {{ '\ud83d\ude00' > '\uffff' }}", "True True"],
  [
    "{{ '3.9' | int }} {{ '1e3' | int }} {{ '-5' | int }} {{ '+5' | int }} {{ '1_000' | int }} {{ 'ff' | int(0, 16) }} {{ '' | int(7) }} {{ true | int }} {{ [] | int }} {{ 'inf' | float }} {{ 'nan' | float }} {{ '.5' | float }} {{ '5.' | float }}",
    "3 1000 -5 5 1000 255 7 1 0 inf nan 0.5 5.0",
  ],
];

/** Templates that Jinja refuses. */
export const jinjaErrors = [
  "{{ 'a' + 1 }}",
  "{{ missing.name }}",
  "{{ 5 is divisibleby(0) }}",
  "{{ 1 is unknown(2) }}",
  "{{ 1 is in }}",
  "{{ 'a' is in ('a', 'b') }}",
  "{{ '1' is gt 1 }}",
  "{{ 1e }}",
  "{{ (,) }}",
  "{{ (1,,) }}",
  "{{ [1] | select('nosuch') | list }}",
  "{{ (1,) + [2] }}",
  "{% for a, in [(1,), (2,)] %}{{ a }}{% endfor %}",
  "{% for a, in [[1, 2]] %}{{ a }}{% endfor %}",
  "{% set a, = [5] %}{{ a }}",
  "{% macro f(a, b=2, *args) %}{% endmacro %}",
  "{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}",
  "{{ 'x'.index('b') }}",
  "{{ 'a,b'.split('') }}",
  "{{ 1 < 'a' }}",
  "{{ none < 1 }}",
  "{{ [1] < (1,) }}",
  "{{ {} < {} }}",
  "{{ [3, 'a'] | sort }}",
  "{{ {'a': 1} + {'b': 2} }}",
  "{{ 1 in 5 }}",
  "{{ 1 in 'abc' }}",
  "{{ none in 'abc' }}",
  "{% for a, b in [[1, 2, 3]] %}{% endfor %}",
  "{% for a, b in [5] %}{% endfor %}",
  "{% for x in 5 %}{% endfor %}",
  "{% for x in none %}{% endfor %}",
  "{{ '%s' % ('a', 'b') }}",
  "{{ '%s %s' % 'a' }}",
  "{{ '{}'.format() }}",
  "{{ 1.0 / 0 }}",
  "{{ 1.0 % 0.0 }}",
  "{{ 2 ** 100000000 }}",
  "{{ 'a' * -1 }}|{{ [0] * 0 }}|{{ 'ab' * 2.0 }}",
  "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
  "{{ 'abc'.startswith(5) }}",
];
