"""Holds packaging/scale against the schemas of those who read it.

The Kubernetes manifest is compared with the types of the official client: every key must be known, every value of its type,
every required key there. The job definition of AWS Batch and the arguments of the submit script's request are compared with
the service's own model, which botocore carries.
"""

import json
import pathlib
import re
import subprocess
import sys

import botocore.session
import botocore.validate
import kubernetes.client as k8s
import yaml

PLAIN = {"str": str, "int": int, "bool": bool, "float": float, "object": (dict, list, str, int, float, bool)}


def check(value, kind, place, faults):
    """Walks a value along the client's types and collects what does not fit."""
    if kind.startswith("list["):
        if not isinstance(value, list):
            faults.append(f"{place}: a list is needed, not {value!r}")
            return
        for number, item in enumerate(value):
            check(item, kind[5:-1], f"{place}[{number}]", faults)
    elif kind.startswith("dict("):
        if not isinstance(value, dict):
            faults.append(f"{place}: an object is needed, not {value!r}")
            return
        for key, item in value.items():
            check(item, kind[5:-1].split(", ", 1)[1], f"{place}.{key}", faults)
    elif kind in PLAIN:
        wrong = not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind == "int")
        if wrong:
            faults.append(f"{place}: {kind} is needed, not {value!r}")
    elif hasattr(k8s, kind):
        check_object(value, getattr(k8s, kind), place, faults)


def check_object(value, model, place, faults):
    if not isinstance(value, dict):
        faults.append(f"{place}: {model.__name__} is needed, not {value!r}")
        return
    names = {shown: own for own, shown in model.attribute_map.items()}
    for key, item in value.items():
        if key not in names:
            faults.append(f"{place}: {model.__name__} has no {key}")
        else:
            check(item, model.openapi_types[names[key]], f"{place}.{key}", faults)
    known = {names[key]: item for key, item in value.items() if key in names}
    try:
        model(**known)
    except ValueError as error:
        faults.append(f"{place}: {error}")


def kubernetes_faults(manifest):
    faults = []
    if (manifest.get("apiVersion"), manifest.get("kind")) != ("batch/v1", "Job"):
        faults.append("it is no Job of batch/v1")
    check_object(manifest, k8s.V1Job, "job", faults)
    return faults


def check_kubernetes(root):
    manifest = yaml.safe_load((root / "packaging/scale/kubernetes.yaml").read_text())
    faults = kubernetes_faults(manifest)
    assert not faults, faults
    spec = manifest["spec"]
    for key in ["backoffLimitPerIndex", "podFailurePolicy", "successPolicy", "maxFailedIndexes"]:
        assert key in spec, f"{key} is missing"
    # What the API server asks for besides the schema.
    assert spec["completionMode"] == "Indexed" and spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["maxFailedIndexes"] <= spec["completions"] and spec["parallelism"] <= spec["completions"]
    for rule in spec["successPolicy"]["rules"]:
        assert rule["succeededCount"] <= spec["completions"] or "succeededIndexes" in rule
    # The check itself must find what is wrong.
    for path, value in [("spec.backofLimitPerIndex", 6), ("spec.completions", "400"), ("spec.podFailurePolicy", {"rules": [{}]})]:
        broken = json.loads(json.dumps(manifest))
        holder, key = path.rsplit(".", 1)
        broken[holder][key] = value
        assert kubernetes_faults(broken), f"{path} = {value} was not found"
    print("ok: kubernetes.yaml fits the types of kubernetes", k8s.__name__ and __import__("kubernetes").__version__)


def model_faults(service, operation, value):
    shape = service.operation_model(operation).input_shape
    report = botocore.validate.ParamValidator().validate(value, shape)
    return report.generate_report() if report.has_errors() else ""


def check_batch(root):
    service = botocore.session.get_session().get_service_model("batch")
    folder = root / "packaging/scale/aws-batch"
    definition = json.loads((folder / "job-definition.json").read_text())
    assert not (faults := model_faults(service, "RegisterJobDefinition", definition)), faults
    assert model_faults(service, "RegisterJobDefinition", {**definition, "type": 3})
    actions = {rule["onExitCode"]: rule["action"] for rule in definition["retryStrategy"]["evaluateOnExit"] if "onExitCode" in rule}
    assert actions == {"3": "EXIT", "2": "EXIT"}, actions
    # The script prints its request in place of sending it.
    said = subprocess.run(
        ["sh", folder / "submit.sh", "--dry-run", "queue", "/shared/plan", "400"], check=True, capture_output=True, text=True
    ).stdout
    request = json.loads(said)
    assert not (faults := model_faults(service, "SubmitJob", request)), faults
    assert request["arrayProperties"]["size"] == 400 and "/shared/plan" in request["containerOverrides"]["command"]
    wrong = subprocess.run(["sh", folder / "submit.sh", "queue", "/shared/plan", "many"], capture_output=True)
    assert wrong.returncode == 2, wrong
    assert re.search(r"visus", request["jobDefinition"])
    print("ok: the job definition and the request fit the model of AWS Batch")


root = pathlib.Path(sys.argv[1])
check_kubernetes(root)
check_batch(root)
