"""Whether the service can be asked."""


def test_not_ready_without_its_store(asked, city):
    """A store that cannot be read makes the service not ready, and alive all the same."""
    client = asked()
    assert client.get("/readyz").status_code == 200
    for path in city[0].glob("city.db*"):
        path.unlink()
    client.app.state.service.reader._engine.dispose()
    found = client.get("/readyz")
    assert (found.status_code, found.json()["code"]) == (503, "store")
    assert client.get("/healthz").json() == {"status": "ok"}
    assert not (city[0] / "city.db").exists()


def test_not_ready_once_it_is_told_to_stop(asked):
    """A service that is about to end says so to who asks whether it can be asked."""
    client = asked()
    client.app.state.service.feed.stopping = True
    found = client.get("/readyz")
    assert (found.status_code, found.json()["code"]) == (503, "stopping")
