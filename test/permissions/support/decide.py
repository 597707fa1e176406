"""Decides requests by policies, with the engine that MiniStack enforces IAM with. JSON in, JSON out.

In: {"account": ..., "region": ..., "roles": {arn: [policy]}, "resources": {arn: policy}, "requests": [...], "rights": [...]}
Out: {"requests": ["Allow" | "Deny" | "ImplicitDeny"], "rights": [[index of each request that the right alone allows]]}
A request has a principal ("role"), or a service of AWS ("service"): then only the resource's own policy counts; or somebody of any
account ("principal") with a policy of their own ("policy").
"""

import json
import sys

from ministack.core.iam_evaluator import (
    EvalContext,
    combine_resource_policy,
    evaluate,
    evaluate_resource_policy,
    parse_policy_document,
)

given = json.load(sys.stdin)


def context_of(request):
    who = request.get("role") or request.get("principal", "")
    return EvalContext(
        principal_arn=who,
        principal_type="AssumedRole",
        principal_account=who.split(":")[4] if who else given["account"],
        action=request["action"],
        resource_arn=request["resource"],
        region=given["region"],
        secure_transport=request["context"].get("aws:securetransport", "true") == "true",
        service_context=request["context"],
    )


def decide(request):
    context = context_of(request)
    # An object has the policy of its bucket.
    resource = request["resource"].split("/")[0] if request["action"].startswith("s3:") else request["resource"]
    policy = given["resources"].get(resource)
    if "service" in request:
        return evaluate_resource_policy(policy, context, service=request["service"]).decision
    own = given["roles"][request["role"]] if "role" in request else [request["policy"]]
    identity = evaluate(context, [parse_policy_document(document) for document in own])
    if policy is None:
        return identity.decision
    required = request["action"].startswith("kms:")
    return combine_resource_policy(identity, context, policy, given["account"], required=required).decision


def used_by(right):
    statement = {**right["statement"], "Action": right["action"], "Resource": right["resource"]}
    policy = [parse_policy_document({"Statement": [statement]})]
    return [
        index
        for index, request in enumerate(given["requests"])
        if request.get("role") == right["role"] and evaluate(context_of(request), policy).decision == "Allow"
    ]


json.dump(
    {
        "requests": [decide(request) for request in given["requests"]],
        "rights": [used_by(right) for right in given["rights"]],
    },
    sys.stdout,
)
