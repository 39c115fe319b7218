"""Verifies messages with the Python library of Standard Webhooks, and signs their bodies with it: JSON in, JSON out.

See standard-webhooks.ts.
"""

import json
import sys
from datetime import datetime, timezone

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def check(message: dict) -> dict:
    webhook = Webhook(message["secret"])
    headers, body = message["headers"], message["body"]
    try:
        webhook.verify(body, headers, json_parse=False)
        genuine = True
    except WebhookVerificationError:
        genuine = False
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), timezone.utc)
    return {"genuine": genuine, "signature": webhook.sign(headers["webhook-id"], at, body)}


json.dump([check(message) for message in json.load(sys.stdin)], sys.stdout)
