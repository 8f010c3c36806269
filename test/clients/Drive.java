// Drives the client that openapi-generator generates, in the package `dev.postrider`, against a real service: says each
// step that works. Arguments: the service, a key, a receiver that fails first, an event type.
import com.fasterxml.jackson.databind.DeserializationFeature;
import dev.postrider.ApiClient;
import dev.postrider.ApiException;
import dev.postrider.api.DeadLettersApi;
import dev.postrider.api.DeliveriesApi;
import dev.postrider.api.DestinationsApi;
import dev.postrider.api.EventsApi;
import dev.postrider.api.SubscriptionsApi;
import dev.postrider.model.DeliveryStatus;
import dev.postrider.model.DeliveryWithRetries;
import dev.postrider.model.DestinationInput;
import dev.postrider.model.Error;
import dev.postrider.model.ErrorCode;
import dev.postrider.model.EventInput;
import dev.postrider.model.RetryPolicy;
import dev.postrider.model.RetrySchedule;
import dev.postrider.model.SubscriptionInput;
import java.net.URI;
import java.util.List;
import java.util.Map;

public class Drive {
  private static DeliveriesApi deliveries;

  public static void main(String[] argv) throws Exception {
    ApiClient client = new ApiClient();
    // Or it cannot tell the two forms of a retry policy from each other.
    client.setObjectMapper(client.getObjectMapper().enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES));
    client.updateBaseUri(argv[0]);
    client.setRequestInterceptor(request -> request.header("authorization", "Bearer " + argv[1]));
    String eventType = argv[3];
    deliveries = new DeliveriesApi(client);

    var policy = new RetryPolicy(new RetrySchedule().scheduleSeconds(List.of()));
    var input = new DestinationInput().url(URI.create(argv[2])).retryPolicy(policy);
    var destination = new DestinationsApi(client).createDestination(input);
    is(destination.getSigningSecret().startsWith("whsec_"));
    say("create");

    var wanted = new SubscriptionInput().destinationId(destination.getId()).eventType(eventType);
    var subscription = new SubscriptionsApi(client).createSubscription(wanted);
    say("subscribe");

    var events = new EventsApi(client);
    var event = events.createEvent(
        new EventInput().type(eventType).body(Map.of("total", 129.9)).idempotencyKey(eventType), null);
    is(event.getDeliveries().get(0).getSubscriptionId().equals(subscription.getId()));
    String id = event.getDeliveries().get(0).getId();
    say("publish");

    is(until(id, DeliveryStatus.DEAD, 1).getRetries().get(0).getResponseCode() == 500);
    var page = deliveries.listDeliveries(null, destination.getId(), null, null, null, null, 1);
    is(page.getData().get(0).getId().equals(id) && page.getNextCursor() == null);
    say("read");

    deliveries.retryDelivery(id);
    until(id, DeliveryStatus.DEAD, 2);
    say("retry");

    new DeadLettersApi(client).replayDeadDelivery(id);
    until(id, DeliveryStatus.SUCCEEDED, 3);
    say("replay");

    try {
      events.createEvent(new EventInput().type("one").body(Map.of()), null);
      is(false);
    } catch (ApiException refused) {
      var error = client.getObjectMapper().readValue(refused.getResponseBody(), Error.class).getError();
      is(error.getCode() == ErrorCode.INVALID_EVENT_TYPE && error.getParam().equals("/type"));
    }
    say("error");
  }

  private static DeliveryWithRetries until(String id, DeliveryStatus status, int attempts) throws Exception {
    for (int reads = 0; reads < 600; reads++) {
      var delivery = deliveries.readDelivery(id);
      if (delivery.getStatus() == status && delivery.getAttemptCount() == attempts) return delivery;
      Thread.sleep(50);
    }
    throw new IllegalStateException("it is not " + status);
  }

  private static void say(String step) {
    System.out.println(step);
  }

  private static void is(boolean holds) {
    if (!holds) throw new IllegalStateException();
  }
}
