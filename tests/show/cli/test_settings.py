"""The file of defaults for flags."""

import json

from command import run, said


def test_a_file_of_defaults_is_read_and_flags_win(started):
    """diurnal.toml holds defaults for all verbs or for one; a flag wins; what no verb understands is refused."""
    (started / "diurnal.toml").write_text('store = "city.db"\n[plan]\nepsilon = "2"\nhistory = 20\n')
    assert said("status")["head"]
    assert said("plan", "homes.parquet")["epsilon"] == "2"
    assert said("plan", "homes.parquet", "--epsilon", "3")["epsilon"] == "3"
    (started / "elsewhere.toml").write_text('[plan]\nepsilon = "5"\nhistory = 20\n')
    done = run("--config", "elsewhere.toml", "plan", "homes.parquet", "--json")
    assert json.loads(done.stdout)["epsilon"] == "5"
    for text in ("stroe = 'x'", "[plna]\nepsilon = '1'", "[plan]\nepsilno = '1'", "= ="):
        (started / "diurnal.toml").write_text(text)
        assert "diurnal.toml" in run("status", code=2).stderr
