"""Tiny sets in the schemas of the public ones, about people nobody knows."""

import json
import lzma
from pathlib import Path
from typing import Any


def write(folder: Path) -> Path:
    """Every set, as files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _put(folder / "locomo2.json", LOCOMO)
    _put(folder / "locomo2_audit_overlay.json", OVERLAY)
    _put(folder / "longmemeval_s_3.json.xz", LONGMEMEVAL)
    _put(folder / "beam_100k.json", BEAM)
    _put(folder / "factconsolidation_tiny.json", FACTS)
    _put(folder / "realtalk1.json", REALTALK)
    _put(folder / "prefeval_explicit.json", PREFEVAL)
    _put(folder / "xquad2.json", XQUAD)
    _put(folder / "splits.json", SPLITS)
    (folder / "precisionmembench").mkdir()
    _put(folder / "precisionmembench" / "beliefs.seed.json", BELIEFS)
    _put(folder / "precisionmembench" / "retrieval.cases.json", CLAIMS)
    (folder / "halumem_pilot").mkdir()
    (folder / "halumem_pilot" / "user.jsonl").write_text(json.dumps(HALUMEM) + "\n", encoding="utf-8")
    return folder


def _put(file: Path, document: Any) -> None:
    data = json.dumps(document).encode()
    file.write_bytes(lzma.compress(data) if file.suffix == ".xz" else data)


def _turn(speaker: str, dia_id: str, text: str, **more: str) -> dict[str, str]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Nora",
            "speaker_b": "Piet",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                _turn("Nora", "D1:1", "I adopted a puppy called Biscuit yesterday."),
                _turn("Piet", "D1:2", "Lovely! I am painting my kitchen yellow."),
                _turn("Nora", "D1:3", "Look at him", blip_caption="a brown puppy asleep in a basket"),
            ],
            "session_10_date_time": "9:05 am on 2 July, 2023",
            "session_10": [
                _turn("Piet", "D10:1", "My violin exam is on Thursday."),
                _turn("Nora", "D10:2", "I signed up for a pottery course in Utrecht."),
            ],
            "session_2_date_time": "10:30 am on 1 June, 2023",
            "session_2": [
                _turn("Piet", "D2:1", "The kitchen is done, I chose green instead of yellow."),
                _turn("Nora", "D2:2", "Biscuit ate my train ticket."),
            ],
        },
        "qa": [
            {
                "question": "What is Nora's puppy called?",
                "answer": "Biscuit",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {
                "question": "Which colours did Piet consider for his kitchen?",
                "answer": "yellow, green",
                "evidence": ["D1:2; D2:01"],
                "category": 1,
            },
            {
                "question": "When is the violin exam?",
                "answer": "6 July",
                "evidence": ["D:10:1", "D"],
                "category": 2,
            },
            {"question": "Does Nora like crafts?", "answer": "yes", "evidence": [], "category": 3},
            {
                "question": "What did Nora's cat eat?",
                "adversarial_answer": "a train ticket",
                "evidence": ["D2:2"],
                "category": 5,
            },
        ],
    },
    {
        "sample_id": "conv-2",
        "conversation": {
            "speaker_a": "Olga",
            "speaker_b": "Rui",
            "session_1_date_time": "8:00 am on 3 March, 2022",
            "session_1": [
                _turn("Olga", "D1:1", "Our bakery opens at six from now on."),
                _turn("Rui", "D1:2", "My ferry to the island leaves at noon."),
            ],
        },
        "qa": [
            {"question": "When does the bakery open?", "answer": "six", "evidence": ["D1:1"], "category": 4},
        ],
    },
]

OVERLAY = {
    "overlay": {
        "conv-1#0": {"error_type": "WRONG_CITATION", "correct_evidence": ["D1:1", "D1:3"]},
        "conv-1#2": {"error_type": "HALLUCINATION", "correct_evidence": []},
    }
}

_SESSIONS: dict[str, list[tuple[str, str]]] = {
    "s1": [("u", "I pay 40 euros a month for my gym."), ("a", "That is a fair price."), ("u", "   ")],
    "s2": [("u", "My gym now costs 55 euros a month."), ("a", "Prices rise everywhere.")],
    "s3": [("u", "How do I boil an egg?"), ("a", "Seven minutes in simmering water.")],
    "s4": [("u", "Recommend a novel about the sea."), ("a", "Try a story about whalers.")],
}

LONGMEMEVAL = {
    "meta": {},
    "questions": [
        {
            "question_id": "q1",
            "question_type": "knowledge-update",
            "question": "How much is my gym per month?",
            "answer": "55 euros",
            "question_date": "2023/06/10 (Sat) 12:00",
            "answer_session_ids": ["s2", "s1"],
            "haystack_session_ids": ["s1", "s2", "s3", "s1"],
            "haystack_dates": [
                "2023/05/01 (Mon) 08:00",
                "2023/06/01 (Thu) 08:00",
                "2023/05/15 (Mon) 08:00",
                "2023/05/20 (Sat) 08:00",
            ],
            "gold_turns": [["s1", 0], ["s2", 0]],
        },
        {
            "question_id": "q2_abs",
            "question_type": "single-session-user",
            "question": "How much is my swimming club?",
            "answer": "unknown",
            "question_date": "2023/06/10 (Sat) 12:00",
            "answer_session_ids": ["s1"],
            "haystack_session_ids": ["s1", "s4"],
            "haystack_dates": ["2023/05/03 (Wed) 08:00", "2023/05/02 (Tue) 08:00"],
            "gold_turns": [],
        },
        {
            "question_id": "q3",
            "question_type": "single-session-assistant",
            "question": "What did you tell me about eggs?",
            "answer": "seven minutes",
            "question_date": "2023/06/10 (Sat) 12:00",
            "answer_session_ids": ["s3"],
            "haystack_session_ids": ["s3", "s4"],
            "haystack_dates": ["2023/05/01 (Mon) 08:00", "2023/05/04 (Thu) 08:00"],
            "gold_turns": [["s3", 1]],
        },
    ],
    "sessions": _SESSIONS,
}


def original_release() -> list[dict[str, Any]]:
    """The same questions as the authors publish them: sessions inline, evidence marked in the turns."""
    names = {"u": "user", "a": "assistant"}
    found = []
    for question in LONGMEMEVAL["questions"]:
        gold = {tuple(turn) for turn in question["gold_turns"]}
        sessions = [
            [
                {"role": names[role], "content": text}
                | ({"has_answer": True} if (name, place) in gold else {})
                for place, (role, text) in enumerate(_SESSIONS[name])
            ]
            for name in question["haystack_session_ids"]
        ]
        plain = {key: value for key, value in question.items() if key != "gold_turns"}
        found.append(plain | {"haystack_sessions": sessions})
    return found


def _message(id: int, role: str, content: str, anchor: str | None, batch: int) -> dict[str, Any]:
    return {"id": id, "role": role, "batch": batch, "time_anchor": anchor, "content": content}


BEAM = {
    "conversations": [
        {
            "id": "100K-1",
            "messages": [
                _message(0, "u", "The launch of my shop is planned for 3 April.", "March-15-2024", 1),
                _message(1, "a", "Noted: 3 April.", None, 1),
                _message(2, "u", "I moved the launch of my shop to 9 May.", "April-02-2024", 2),
                _message(3, "a", "Good, that leaves time for the website.", "April-02-2024", 2),
            ],
            "questions": [
                {
                    "qid": "b1",
                    "type": "knowledge_update",
                    "question": "When does my shop launch?",
                    "answer": "9 May",
                    "source_ids": [0, 2],
                    "source_groups": {"original_info": [0], "updated_info": [2]},
                },
                {
                    "qid": "b2",
                    "type": "abstention",
                    "question": "What did the accountant say?",
                    "answer": "nothing",
                    "source_ids": [],
                },
            ],
        }
    ]
}

FACTS = {
    "corpora": {
        "6k": [
            "Ada Lund plays the sport of tennis.",
            "Ada Lund plays the sport of rowing.",
            "Oslo is a city.",
        ],
    },
    "sets": [
        {
            "name": "factconsolidation_sh_6k",
            "corpus": "6k",
            "questions": ["Which sport does Ada Lund play?"],
            "answers": [["Rowing"]],
        },
        {"name": "factconsolidation_mh_32k", "corpus": "32k", "questions": ["Who?"], "answers": [["Nobody"]]},
    ],
}

SPLITS = {
    "locomo": {"dev": ["conv-2"], "test": ["conv-1"]},
    "longmemeval_s": {"dev": ["q3"], "test": ["q1", "q2_abs"]},
}


def _chat(dia_id: str, speaker: str, date_time: str, text: str) -> dict[str, str]:
    return {"clean_text": text, "speaker": speaker, "date_time": date_time, "dia_id": dia_id}


REALTALK = [
    {
        "id": "Chat_1",
        "name": {"speaker_1": "Ines Berg", "speaker_2": "Joao"},
        "session_1": [
            _chat("D1:1", "Ines Berg", "29.12.2023, 10:00:00", "I sold my sailing boat today"),
            _chat("D1:2", "Joao", "29.12.2023, 10:00:00", "To whom did it go?"),
            _chat("D1:3", "Ines Berg", "29.12.2023, 09:59:00", "A beekeeper from Faro"),
            _chat("D1:4", "Joao", "29.12.2023, 10:02:00", " "),
        ],
        "session_2": [_chat("D2:1", "Joao", "02.01.2024, 08:00:00", "My knee is fine again")],
        "qa": [
            {
                "question": "Who bought the boat of Ines Berg?",
                "answer": "a beekeeper",
                "evidence": ["D1:1-D1:3", "D9:9", ""],
                "category": 1,
            },
            {"question": "When was Joao well?", "answer": "2.1.", "evidence": ["D2:1."], "category": 2},
        ],
    }
]


def _wish(id: str, preference: str, question: str) -> dict[str, str]:
    return {
        "id": id,
        "topic": id.partition("#")[0],
        "preference": preference,
        "question": question,
        "explanation": "",
    }


PREFEVAL = {
    "dev": [_wish("food#1", "I never eat mushrooms.", "What shall I cook tonight?")],
    "test": [
        _wish(f"travel#{number}", f"I only travel with bag number {number}.", f"Where to go, {number}?")
        for number in range(21)
    ],
}

XQUAD = {
    "en": {
        "data": [
            {
                "paragraphs": [
                    {
                        "context": "The bridge opened in 1931. It carries trains and a footpath.",
                        "qas": [
                            {
                                "id": "x1",
                                "question": "What does the bridge carry?",
                                "answers": [{"answer_start": 38, "text": "trains"}],
                            }
                        ],
                    }
                ]
            }
        ]
    },
    "zh": {
        "data": [
            {
                "paragraphs": [
                    {
                        "context": "大桥于1931年通车。桥上有火车和人行道。",
                        "qas": [
                            {
                                "id": "x1",
                                "question": "桥上有什么？",
                                "answers": [{"answer_start": 14, "text": "火车"}],
                            }
                        ],
                    }
                ]
            }
        ]
    },
}


def _belief(id: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "_id": id,
        "user_id": "test-user",
        "type": "preference",
        "canonical_name": id.removeprefix("b-"),
        "aliases": [],
        "content": content,
        "why_it_matters": "it does",
        "scope": ["domain:garden"],
        "pinned": False,
        "resolved_at": None,
        "superseded_by": None,
        "created_at": "2026-09-01T00:00:00Z",
    } | more


BELIEFS = [
    _belief("b-tomato", "Grows tomatoes in raised beds.", aliases=["love apple"]),
    _belief("b-compost", "Turns the compost heap every Sunday."),
    _belief("b-old-fence", "Used a wooden fence.", superseded_by="b-fence"),
    _belief("b-fence", "Has a hedge instead of a fence.", pinned=True),
    _belief("b-pond", "Wonders whether to dig a pond.", type="open_question", pinned=True),
    _belief("b-stranger", "Grows tomatoes on a balcony.", user_id="other-user"),
    _belief("b-kitchen", "Cans tomatoes in August.", scope=["domain:kitchen"]),
    _belief("b-water", "Waters by hose.", type="relation", participants=["b-compost"], aliases=["hose"]),
]

CLAIMS = [
    {
        "caseId": "alias",
        "category": "Alias resolution",
        "scope": ["domain:garden"],
        "query": "where do my love apple plants, the tomatoes, grow?",
        "expect": {
            "relevantBeliefs": {"shouldOnlyInclude": ["b-tomato"], "mustExclude": ["b-stranger"]},
            "pinnedFacts": {"mustInclude": ["b-fence"], "mustExclude": ["b-pond"]},
            "openQuestions": {"mustInclude": ["b-pond"]},
        },
    },
    {
        "caseId": "empty",
        "category": "Design boundary cases",
        "scope": ["domain:garden"],
        "query": "  ",
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}},
    },
    {
        "caseId": "no-room",
        "category": "Budget eviction and capacity",
        "scope": ["domain:garden"],
        "query": "tomatoes",
        "budget": {"maxBeliefs": 1},
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}, "pinnedFacts": {"mustInclude": ["b-fence"]}},
    },
    {
        "caseId": "newcomer",
        "category": "Cold start behavior",
        "scope": ["domain:garden"],
        "query": "tomatoes in raised beds",
        "userId": "nobody",
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}},
    },
    {
        "caseId": "wrong-wish",
        "category": "Alias resolution",
        "scope": ["domain:garden"],
        "query": "wooden fence",
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["b-old-fence"]}},
    },
]


def _point(content: str, source: str = "system", **more: Any) -> dict[str, Any]:
    return {
        "memory_content": content,
        "memory_type": "Persona Memory",
        "is_update": "False",
        "original_memories": [],
        "timestamp": "Sep 04, 2025, 11:35:32",
        "memory_source": source,
    } | more


HALUMEM = {
    "uuid": "user-1",
    "sessions": [
        {
            "memory_points": [
                _point("Selma earns 3,000 euros a month"),
                _point("Selma lives in Bergen", memory_type="Event Memory"),
                _point(
                    "Selma earns 4,000 euros a month",
                    "interference",
                    reference_memory_content="Selma earns 3,000 euros a month",
                ),
            ],
            "questions": [
                {
                    "question": "Where does Selma live?",
                    "answer": "Bergen",
                    "evidence": [{"memory_content": "Selma lives in Bergen"}],
                    "question_type": "Basic Fact Recall",
                },
                {
                    "question": "What is Selma's middle name?",
                    "answer": "not provided",
                    "evidence": [],
                    "question_type": "Memory Boundary",
                },
            ],
        },
        {"memory_points": [_point("Selma lives in Bergen")]},
    ],
}
