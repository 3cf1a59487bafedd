"""The marks by which chat formats separate roles, turns, thoughts and tool calls, as one pattern.

The pattern is applied to a text as a reader sees it: look-alike letters, brackets and bars are ASCII, and
hidden characters are gone. Sources: the chat templates that the models publish.
"""

_REST = r"[^<>\n]*"
_ATTRIBUTES = rf"(?:\s+[\w:-]+\s*={_REST})?\s*/?>"

# ChatML, Qwen, Llama 3 and 4, Phi, Zephyr, GLM, Granite, Command R, Kimi, Grok, harmony, DeepSeek: <|word|>.
# Gemma 4 has only one bar in a token: <|turn>, <turn|>.
_BARS = r"<\|[^|<>\n]+\|>?|<\|\s*/?[A-Za-z][\w.:-]*\s*>|<\s*/?[A-Za-z][\w.:-]*\s*\|>"

# Mistral. Those that are words of ordinary text count in capital letters only.
_SQUARE = (
    r"(?i:\[\s*/?\s*(?:inst|sys|system|system_prompt|available_tools|tool_calls|tool_results?|tool_content"
    r"|model_settings|call_id|img_break|img_end|begin_audio|gmask|control_\d+|(?:start|end)_of_turn)\s*\])"
    r"|\[/?(?:ARGS|PREFIX|MIDDLE|SUFFIX|IMG|THINK|AUDIO|TRANSCRIBE)\]"
)

# Llama 2, and the ends of sequences of many tokenizers.
_SEQUENCES = (
    r"(?i:<<\s*/?\s*sys\s*>>|<\s*/?\s*(?:s|bos|eos|pad|unk|sop|eop|eoh|eoa|bos_token|eos_token"
    r"|extra_id_\d+|reserved_\d+|unused\d+|tokens_unused_\d+|(?:start|end)_of_(?:turn|image|audio|role|text)"
    r"|image_soft_token|mask:\d+)\s*>)"
)

# `List<User>` is code: where a tag is glued to a name, it counts in small letters only.
_ROLES = (
    r"(?i:<\s*/?\s*(?:system|developer|assistant|chatbot)"
    rf"(?:[-_ ]?(?:prompt|message|reminder|instruction|turn|role|note|override)s?)?{_ATTRIBUTES})"
    r"|(?i:(?:^|\W)<\s*/?\s*(?:user|human|bot|tool)"
    rf"(?:[-_ ](?:prompt|message|input|query|turn|role|request)s?)?{_ATTRIBUTES})"
    r"|<\s*/?\s*(?:user|human|bot|tool)\s*>"
    r"|(?i:###?#?\s?(?:instruction|response|input|human|user|assistant|system)\s?:)"
)

_THOUGHTS = (
    r"(?i:<\s*/?\s*(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|inner_monologue)"
    rf"{_ATTRIBUTES})|\x{{25c1}}/?think\x{{25b7}}"
)

_TOOLS = (
    r"(?i:<\s*/?\s*(?:[a-z]+:)?(?:tools|tool_?(?:calls?|uses?|results?|responses?|code|outputs?|declare)"
    r"|function_?(?:calls?|results?|responses?)|invoke|arg_key|arg_value|python_tag|calls?_section)\b"
    rf"(?:[\s/]{_REST})?>?|<\s*/?\s*antml:{_REST}>?"
    rf"|<\s*(?:(?:function|parameter|tool)\s*=|parameter\s+name\s*=){_REST}>?)"
)

# MiniMax writes its turns with tildes between brackets.
_TILDES = r"\]~!?[a-z]\[|\]~[a-z]\]|\[e~\["

_FENCE = (
    r"(?i:<\s*/?\s*(?:m\s*e\s*m\s*o\s*r\s*(?:y|i\s*e\s*s)|recalled[-_ ]?memor(?:y|ies))"
    rf"(?:[\s/\"'=]{_REST})?>?)"
)

MARKS = "|".join((_BARS, _SQUARE, _SEQUENCES, _TOOLS, _THOUGHTS, _ROLES, _TILDES, _FENCE))

BARS = str.maketrans(dict.fromkeys("\u01c0\u2223\u2758\u2502\u2503\u00a6\uffe8\uff5c\u2d4f\u05c0", "|"))
"""Characters that pass for the bar of a token, for `str.translate`."""
