"""How everything stands, as the custodian is told."""

import json


def test_nothing_is_left_out_of_an_answer(asked, city):
    """What the description says of status and drift takes nothing away from what they are."""
    _, stream = city
    client = asked("custodian")
    curator = client.app.state.service.curator
    assert client.get("/v1/custodian/status").json() == json.loads(json.dumps(curator.status().to_json()))
    (found,) = client.get(f"/v1/custodian/streams/{stream}/drift", params={"window": 2}).json()["groups"].values()
    (drift,) = curator.stream(stream).drift(window=2).values()
    assert found == drift.to_json()
