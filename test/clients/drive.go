// Drives the client that oapi-codegen generates, in the package `postrider` beside it, against a real service: says each
// step that works. Arguments: the service, a key, a receiver that fails first, an event type.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"drive/postrider"
)

var ctx = context.Background()

func main() {
	baseURL, key, receiver, eventType := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	authorize := postrider.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("authorization", "Bearer "+key)
		return nil
	})
	client, err := postrider.NewClientWithResponses(baseURL, authorize)
	check(err)

	var policy postrider.RetryPolicy
	check(policy.FromRetrySchedule(postrider.RetrySchedule{ScheduleSeconds: []int{}}))
	created, err := client.CreateDestinationWithResponse(ctx, postrider.DestinationInput{Url: receiver, RetryPolicy: &policy})
	check(err)
	is(created.JSON201 != nil && strings.HasPrefix(created.JSON201.SigningSecret, "whsec_"), created.Body)
	destination := created.JSON201.Id
	say("create")

	subscribed, err := client.CreateSubscriptionWithResponse(ctx, postrider.SubscriptionInput{DestinationId: destination, EventType: eventType})
	check(err)
	is(subscribed.JSON201 != nil, subscribed.Body)
	say("subscribe")

	event := postrider.EventInput{Type: eventType, Body: map[string]any{"total": 129.9}, IdempotencyKey: &eventType}
	published, err := client.CreateEventWithResponse(ctx, nil, event)
	check(err)
	is(published.JSON202 != nil && published.JSON202.Deliveries[0].SubscriptionId == subscribed.JSON201.Id, published.Body)
	id := published.JSON202.Deliveries[0].Id
	say("publish")

	dead := until(client, id, postrider.DeliveryStatusDead, 1)
	is(*dead.Retries[0].ResponseCode == 500, nil)
	one := 1
	page, err := client.ListDeliveriesWithResponse(ctx, &postrider.ListDeliveriesParams{DestinationId: &destination, Limit: &one})
	check(err)
	is(page.JSON200 != nil && page.JSON200.Data[0].Id == id && page.JSON200.NextCursor == nil, page.Body)
	say("read")

	retried, err := client.RetryDeliveryWithResponse(ctx, id)
	check(err)
	is(retried.JSON202 != nil, retried.Body)
	until(client, id, postrider.DeliveryStatusDead, 2)
	say("retry")

	replayed, err := client.ReplayDeadDeliveryWithResponse(ctx, id)
	check(err)
	is(replayed.JSON202 != nil, replayed.Body)
	until(client, id, postrider.DeliveryStatusSucceeded, 3)
	say("replay")

	refused, err := client.CreateEventWithResponse(ctx, nil, postrider.EventInput{Type: "one", Body: map[string]any{}})
	check(err)
	is(refused.JSON400 != nil && refused.JSON400.Error.Code == postrider.ErrorCodeInvalidEventType, refused.Body)
	is(*refused.JSON400.Error.Param == "/type", refused.Body)
	say("error")
}

func until(client *postrider.ClientWithResponses, id string, status postrider.DeliveryStatus, attempts int) *postrider.DeliveryWithRetries {
	for range 600 {
		read, err := client.ReadDeliveryWithResponse(ctx, id)
		check(err)
		is(read.JSON200 != nil, read.Body)
		if read.JSON200.Status == status && int(read.JSON200.AttemptCount) == attempts {
			return read.JSON200
		}
		time.Sleep(50 * time.Millisecond)
	}
	panic("it is not " + string(status))
}

func say(step string) { fmt.Println(step) }

func is(holds bool, body []byte) {
	if !holds {
		panic(string(body))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
