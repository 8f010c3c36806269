// A dozen events as real systems send them. The bodies are texts, not objects: what must survive (numbers beyond 2^53,
// 1.0, the order of keys, escapes, white space) is lost as soon as a program parses and writes them again.

export type Sample = {
  type: string;
  body: string;
  /** Names of the destinations that must get it. */
  to: readonly string[];
  why: string;
};

/** Who gets what. `filter` is the second gate, on the event's body. */
export const ROUTES: readonly { name: string; eventType: string; filter: object | null }[] = [
  { name: 'shop', eventType: 'order.paid', filter: null },
  { name: 'concierge', eventType: 'order.paid', filter: { '$.total': { $gte: 500 }, '$.currency': 'EUR' } },
  { name: 'billing', eventType: 'invoice.*', filter: null },
  { name: 'builds', eventType: 'repository.**', filter: null },
  { name: 'crm', eventType: 'user.**', filter: null },
];

export const SAMPLES: readonly Sample[] = [
  {
    type: 'order.paid',
    body: '{"order":"A-1001","total":129.90,"currency":"EUR","items":[{"sku":"MUG-🦊","qty":2}],"note":"Danke! 🎉"}',
    to: ['shop'],
    why: 'total under 500',
  },
  {
    type: 'order.paid',
    body: '{"order":"A-1002","total":1890.00,"currency":"EUR","customer":{"name":"Zoë Müller","vip":true}}',
    to: ['shop', 'concierge'],
    why: 'passes the filter',
  },
  {
    type: 'order.paid',
    body: '{"order":"A-1003","total":98000,"currency":"JPY","customer":{"name":"山田 花子"}}',
    to: ['shop'],
    why: 'not in EUR',
  },
  {
    type: 'order.refunded',
    body: '{"order":"A-0987","amount":15.5,"reason":"arrived broken 😢"}',
    to: [],
    why: 'nobody subscribes to it',
  },
  {
    type: 'invoice.created',
    body: '{"invoice":"2026-0042","lines":[{"text":"Hosting","net":1.0,"vat":0.19}],"due":"2026-02-28"}',
    to: ['billing'],
    why: 'the number 1.0',
  },
  {
    type: 'invoice.paid',
    body: '{"invoice":9007199254740993,"amount_minor":123456789012345678901234567890,"rate":1e-7}',
    to: ['billing'],
    why: 'numbers beyond 2^53',
  },
  {
    type: 'invoice.payment.failed',
    body: '{"invoice":"2026-0040","attempt":3,"decline_code":"insufficient_funds"}',
    to: [],
    why: '.* is one segment only',
  },
  {
    type: 'repository.push',
    body:
      '{"ref":"refs/heads/main","repository":{"id":186853002,"full_name":"acme/rockets"},' +
      '"commits":[{"id":"6dcb09b5b57875f334f61aebed695e2e4193db5e","message":"Fix the fuse 🚀\\n\\nCloses #7"}]}',
    to: ['builds'],
    why: '.** is one or more',
  },
  {
    type: 'repository.pull_request.opened',
    body: '{"number":42,"zulu":1,"alpha":2,"10":"ten","9":"nine","draft":false,"labels":[]}',
    to: ['builds'],
    why: 'keys out of order',
  },
  {
    type: 'repository.release.published',
    body: '{\n  "tag": "v2.0.0",\n  "assets": [\n    { "name": "rocket.tar.gz", "bytes": 7340032 }\n  ]\n}',
    to: ['builds'],
    why: 'white space inside',
  },
  {
    type: 'user.created',
    body: '{"id":"u_7","name":"Jos\\u00e9 \\ud83d\\ude80","path":"\\/home\\/jos\\u00e9","plan":null}',
    to: ['crm'],
    why: 'escapes as written',
  },
  {
    type: 'user.email.changed',
    body: '{"id":"u_7","from":"jose@example.com","to":"josé@例え.jp","family":"👩‍👩‍👧‍👦"}',
    to: ['crm'],
    why: 'joined emoji',
  },
];
