"""Drives the client that openapi-python-client generates, in the package `postrider_client` beside it, against a real
service: says each step that works. Arguments: the service, a key, a receiver that fails first, an event type."""

import sys
import time

from postrider_client import AuthenticatedClient
from postrider_client.api.dead_letters import replay_dead_delivery
from postrider_client.api.deliveries import list_deliveries, read_delivery, retry_delivery
from postrider_client.api.destinations import create_destination
from postrider_client.api.events import create_event
from postrider_client.api.subscriptions import create_subscription
from postrider_client.models import (
    DeliveryStatus,
    DeliveryWithRetries,
    DestinationInput,
    Error,
    ErrorCode,
    EventInput,
    EventInputBody,
    RetrySchedule,
    SubscriptionInput,
)

base_url, key, receiver, event_type = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=key)


def unwrap(answer):
    if isinstance(answer, Error):
        raise RuntimeError(f"{answer.error.code}: {answer.error.message}")
    return answer


def until(delivery_id: str, status: DeliveryStatus, attempts: int) -> DeliveryWithRetries:
    for _ in range(600):
        delivery = unwrap(read_delivery.sync(delivery_id, client=client))
        if delivery.status == status and delivery.attempt_count == attempts:
            return delivery
        time.sleep(0.05)
    raise RuntimeError(f"it is still {delivery.status}")


policy = RetrySchedule(schedule_seconds=[])
destination = unwrap(create_destination.sync(client=client, body=DestinationInput(url=receiver, retry_policy=policy)))
assert destination.signing_secret.startswith("whsec_")
print("create")
subscription = unwrap(
    create_subscription.sync(client=client, body=SubscriptionInput(destination.id, event_type=event_type))
)
print("subscribe")
body = EventInputBody.from_dict({"total": 129.9})
event = unwrap(create_event.sync(client=client, body=EventInput(event_type, body, idempotency_key=event_type)))
assert event.deliveries[0].subscription_id == subscription.id
print("publish")
delivery = until(event.deliveries[0].id, DeliveryStatus.DEAD, 1)
assert delivery.retries[0].response_code == 500
page = unwrap(list_deliveries.sync(client=client, destination_id=destination.id, limit=1))
assert page.data[0].id == delivery.id and page.next_cursor is None
print("read")
unwrap(retry_delivery.sync(delivery.id, client=client))
until(delivery.id, DeliveryStatus.DEAD, 2)
print("retry")
unwrap(replay_dead_delivery.sync(delivery.id, client=client))
until(delivery.id, DeliveryStatus.SUCCEEDED, 3)
print("replay")
refused = create_event.sync(client=client, body=EventInput("one", EventInputBody()))
assert isinstance(refused, Error) and refused.error.code == ErrorCode.INVALID_EVENT_TYPE
assert refused.error.param == "/type"
print("error")
