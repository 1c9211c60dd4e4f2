"""Tokens without a tokenizer: never fewer than the real ones have, for text as people write it."""

# ruff: noqa: RUF001 - look-alikes of other scripts are what is tested

from pathlib import Path

import pytest

from bankml import Encoder
from bankml.documents import estimate
from oracle import texts

SENTENCES = [  # the first article of the declaration of human rights, or its beginning
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق.",
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்",
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
    "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
    "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
    "Minden emberi lény szabadon születik és egyenlő méltósága és joga van.",
    "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով:",
    "លូត មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព",
    "def f(x): return {k: v for k, v in sorted(x.items(), key=lambda kv: kv[1])}  # 0x7fff_ffff",
    "SELECT COUNT(*) FROM HTTPRequestLog WHERE userId = 17 AND createdAt >= '2024-01-01T00:00:00Z'",
    "https://example.org/a/b?c=d&e=f#g-h_i 👍🏽 🎉🎉 👨\u200d👩\u200d👧\u200d👦 🇩🇪 ∀x∈ℝ: x²≥0",
    "zxcv" * 20,
    "AAAAB3NzaC1yc2EAAAADAQABAAABgQDqwrtzxcvbnmqwrtpsdfghjklzxcvbnm",
    "xkcd qwrtz bcdfg hjklm npqrs tvwxz nth PNG http grpc",
    "427426e0cfa6888622fc1d72631071cb4b5a1f86ccde722e7820bcef284de5d0",
]


@pytest.fixture(scope="module")
def chinese() -> list[str]:
    """Of ten languages the one where the estimate is nearest."""
    return texts.sentences("zh-cn")


def paragraphs() -> list[str]:
    """Of our own documentation."""
    return [part for path in Path("docs").glob("*.md") for part in path.read_text().split("\n\n")]


@pytest.mark.parametrize("model", ["minilm", "e5"])
def test_never_fewer_than_there_are(model, chinese, request):
    prefix = "passage: " if model == "e5" else ""
    some = [*SENTENCES, *chinese, *paragraphs()]
    with Encoder(request.getfixturevalue(model)) as encoder:
        true = encoder.tokens([prefix + text for text in some], whole=True).counts
    assert [text for text, few, there in zip(some, estimate(some), true, strict=True) if few < there] == []


def test_not_far_too_many():
    english = paragraphs()
    assert sum(estimate(english)) < 0.6 * sum(map(len, english))


def test_no_text():
    assert estimate([]) == []
    assert estimate(["", " \n"]) == [6, 6]
