// What the demo ends with: commands to paste; the tests paste them too. (A running service knows a key that was made
// beside it within a second.)
export const NEXT_STEPS = `To look around in the dashboard after a tour: bin/postrider demo --keep

What to try next, in Postrider's folder. The service and a receiver, each in a
terminal of its own:

  npm start
  bin/postrider receive

In a third one, an event from here to there:

  KEY=$(bin/postrider keys create --mode test)
  post() {
    curl -sS "http://127.0.0.1:8383/v1/$1" -H "Authorization: Bearer $KEY" \\
      -H 'Content-Type: application/json' -d "$2"
  }
  TO=$(post destinations '{"url":"http://127.0.0.1:8384/"}' |
    grep -o 'dst_[a-z0-9]*' | head -1)
  post subscriptions '{"destination_id":"'$TO'","event_type":"order.*"}'
  post events '{"type":"order.paid","body":{"order":"A-1","total":9.90}}'
`;
