// What the demo ends with: commands to paste; the tests paste them too. They need nothing but Postrider and a shell:
// the image has no npm and no curl. (A running service knows a key that was made beside it within a second.)
export const NEXT_STEPS = `To look around in the dashboard after a tour: bin/postrider demo --keep

What to try next, in Postrider's folder. The service, for receivers on this
machine too, and a receiver, each in a terminal of its own:

  POSTRIDER_TEST_SUBNETS=127.0.0.0/8 bin/postrider serve
  bin/postrider receive

In a third one, an event from here to there:

  export POSTRIDER_API_KEY=$(bin/postrider keys create --mode test)
  TO=$(bin/postrider destinations create http://127.0.0.1:8384/ --json |
    grep -o 'dst_[a-z0-9]*' | head -1)
  bin/postrider subscriptions create $TO 'order.*'
  bin/postrider publish order.paid --data '{"order":"A-1","total":9.90}'
`;
