"""What an operator's Prometheus reads: of public routes for everybody, of everything for the custodian."""

from diurnal.show.web.metrics import Metrics


def test_what_comes_in_is_the_custodians():
    """Private routes, limits met there and what was set aside are in the custodian's text alone."""
    metrics = Metrics()
    metrics.request("GET", "/v1/streams", 200, 0.01, public=True)
    metrics.request("POST", "/v1/readings", 200, 0.01, public=False)
    metrics.limit("batches", "ingest", public=False)
    metrics.set_aside({"3a1b3149bb7fe87d": {"late": 3}})
    everybody, custodian = metrics.public_text().decode(), metrics.all_text().decode()
    own = {
        'diurnal_all_requests_total{method="POST",route="/v1/readings",status="200"} 1.0',
        'diurnal_all_limits_met_total{limit="batches",who="ingest"} 1.0',
        'diurnal_set_aside{reason="late",stream="3a1b3149bb7f"} 3.0',
    }
    assert own <= set(custodian.splitlines())
    assert 'diurnal_http_requests_total{method="GET",route="/v1/streams",status="200"} 1.0' in everybody
    assert not any(word in everybody for word in ("readings", "batches", "late", "3a1b3149bb7f"))


def test_a_method_that_somebody_made_up_is_no_name_of_a_metric():
    """Whatever methods are sent, all that there are not are counted as one."""
    metrics = Metrics()
    for method in ("BREW", "SECRET", "GET"):
        metrics.request(method, "/healthz", 405, 0.01, public=True)
    text = metrics.public_text().decode()
    assert 'method="other",route="/healthz",status="405"} 2.0' in text
    assert "SECRET" not in text
