import { describe, expect, it } from '@jest/globals';
import { parseError } from '@gatehouse/dialects/provider-errors';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { ProviderFailure } from './provider-failure.ts';
import { Refusals, type RefusalsOptions } from './refusals.ts';
import { RefusedNames } from './refused-names.ts';

const catalogue = Catalogue.parse({
  providers: [
    { name: 'p', kind: 'openai', base_url: 'http://127.0.0.1:1' },
    { name: 'q', kind: 'openai', base_url: 'http://127.0.0.1:2' },
    { name: 'bedrock', kind: 'bedrock', region: 'eu-central-1', api_key_env: 'KEY' },
  ],
  models: [
    { id: 'a', provider: 'p' },
    { id: 'b', provider: 'p' },
    { id: 'c', provider: 'p', upstream_model: 'a' },
    { id: 'd', provider: 'q', upstream_model: 'a' },
    {
      ...{ id: 'profile', provider: 'bedrock' },
      upstream_model: 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc',
    },
  ],
});
const [model, other, second, elsewhere, profile] = [...catalogue.models.values()] as [
  ...[Model, Model, Model],
  ...[Model, Model],
];

const refusal = (message: string, status = 400): ProviderFailure =>
  new ProviderFailure('status', 'p', { status, message });
const beta = (name: string): ProviderFailure =>
  refusal(`Unexpected value(s) \`${name}\` for the \`anthropic-beta\` header.`);

function refusalsWith(
  refused: RefusedNames,
  api: RefusalsOptions['api'] = 'messages',
  more: Pick<RefusalsOptions, 'request' | 'target' | 'forms'> = {},
): Refusals {
  const get = (): unknown => ({ adapter: { fits: () => true } });
  const providers = { get, refused } as unknown as RefusalsOptions['providers'];
  return new Refusals({ api, tenantId: 't', providers, ...more });
}

/** A new run of the same tenant. */
function begun(refused: RefusedNames, api: RefusalsOptions['api'] = 'messages', of = model): Refusals {
  const run = refusalsWith(refused, api);
  run.begin(of);
  return run;
}

/** A run that is answered after a refusal. Returns whether it was sent once more. */
function answeredAfter(
  refused: RefusedNames,
  words: ProviderFailure,
  api: RefusalsOptions['api'] = 'messages',
  of = model,
): boolean {
  const run = begun(refused, api, of);
  const isMended = run.isNeededAfter(words, of);
  run.begin(of);
  run.isNeededAfter({}, of);
  return isMended;
}

it('later runs lack nothing by words without an answer, which may be an echo of the client’s', () => {
  const refused = new RefusedNames();
  const run = begun(refused);
  for (const words of [beta('hints.vendor'), beta('b-1'), refusal('role: unknown')]) {
    run.isNeededAfter(words, model);
    run.begin(model);
  }
  expect([...begun(refused).names]).toEqual([]);
  expect(run.isNeededAfter({}, model)).toBe(false);
  expect([...begun(refused).names]).toEqual(['b-1']);
});

it.each([
  [429, ['b-1']],
  [503, ['b-1']],
  [400, []],
  [404, []],
])('later runs lack the causes of a run that ended with %i as %j', (status, names) => {
  const refused = new RefusedNames();
  const run = begun(refused);
  run.isNeededAfter(beta('b-1'), model);
  run.begin(model);
  expect(run.isNeededAfter(refusal('Try again later.', status), model)).toBe(false);
  run.begin(other);
  expect([...begun(refused).names]).toEqual(names);
});

it('an attempt lacks the names known at its begin, so each of two at the same time goes on', () => {
  const refused = new RefusedNames();
  const [one, two] = [refusalsWith(refused), refusalsWith(refused)];
  for (const run of [one, two]) run.begin(model);
  for (const run of [one, two]) expect(run.isNeededAfter(beta('b-1'), model)).toBe(true);
  expect([...one.names]).toEqual([]);
  for (const run of [one, two]) {
    run.begin(model);
    expect([...run.names]).toEqual(['b-1']);
    expect(run.isNeededAfter(beta('b-1'), model)).toBe(false);
  }
});

it('a run lacks what it found itself, also if the memory has lost it, and for this model alone', () => {
  const refused = new RefusedNames();
  const run = refusalsWith(refused);
  run.begin(model);
  run.isNeededAfter(beta('b-1'), model);
  refused.add(
    model,
    't',
    Array.from({ length: 1_000 }, (_, index) => `n-${index}`),
  );
  run.begin(model);
  expect(run.names.has('b-1')).toBe(true);
  run.begin(other);
  expect(run.names.has('b-1')).toBe(false);
});

it.each([
  ['another status', refusal('invalid beta flag', 500)],
  ['other words', refusal('max_tokens is too large')],
  ['an answer', {}],
])('nothing is to be left out after %s', (_case, outcome) => {
  const run = refusalsWith(new RefusedNames());
  run.begin(model);
  expect(run.isNeededAfter(outcome, model)).toBe(false);
});

it('each way to fill in missing reasoning is tried once', () => {
  const run = refusalsWith(new RefusedNames());
  const fills = Array.from({ length: 4 }, () => {
    run.begin(model);
    run.isNeededAfter(refusal('reasoning_content is missing'), model);
    return run.reasoningFill;
  });
  expect(fills).toEqual([undefined, 'calls', 'all', 'space']);
  expect(run.isNeededAfter(refusal('reasoning_content is missing'), model)).toBe(false);
  const counted = refusalsWith(new RefusedNames(), null);
  counted.begin(model);
  expect(counted.isNeededAfter(refusal('reasoning_content is missing'), model)).toBe(false);
});

describe('words about the field of reasoning', () => {
  const demand = refusal('The `reasoning_content` in the thinking mode must be passed back to the API.');
  const excess = refusal("property 'reasoning_content' is unsupported");

  it('count by the last refusal, so a demand takes the refusal of the field back', () => {
    const refused = new RefusedNames();
    const learned = [demand, demand, excess, demand, excess].map((words) => {
      const isMended = answeredAfter(refused, words);
      return [isMended, begun(refused).reasoningFill];
    });
    expect(learned).toEqual([
      [true, 'calls'],
      [true, 'all'],
      [true, 'none'],
      [true, 'calls'],
      [true, 'none'],
    ]);
    expect(answeredAfter(refused, excess)).toBe(false);
  });

  it('end where a server refuses the field and wants it, too', () => {
    const run = refusalsWith(new RefusedNames());
    const mended = [excess, demand, excess].map((words) => {
      run.begin(model);
      return [run.isNeededAfter(words, model), run.reasoningFill];
    });
    expect(mended).toEqual([
      [true, undefined],
      [true, 'none'],
      [false, 'calls'],
    ]);
  });

  it('count in a run by its own refusals, whatever another one finds meanwhile', () => {
    const refused = new RefusedNames();
    const run = begun(refused);
    expect(run.isNeededAfter(demand, model)).toBe(true);
    answeredAfter(refused, excess);
    run.begin(model);
    expect(run.reasoningFill).toBe('calls');
  });

  it.each([
    "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
    'messages.1.assistant.reasoning_content: Extra inputs are not permitted',
    "Unknown parameter: 'messages[1].reasoning_content'.",
    'Unrecognized request argument supplied: reasoning_content',
    "Additional properties are not allowed ('reasoning_content' was unexpected) - 'messages.1'",
    'Invalid JSON payload received. Unknown name "reasoning_content" at \'messages[1]\': Cannot find field.',
    'messages[1]: unknown field `reasoning_content`, expected one of `role`, `content`',
    'The reasoning_content field is not supported by this model.',
    "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, 'reasoning_content'), 'msg': 'Extra inputs are not permitted'}]",
    "Extra inputs are not permitted, field: 'messages[1].reasoning_content'",
    'messages.1.assistant.reasoning_content\n  Extra inputs are not permitted',
  ])('refuse it: %s', (words) => {
    const refused = new RefusedNames();
    answeredAfter(refused, refusal(words));
    expect(begun(refused).reasoningFill).toBe('none');
  });

  it('refuse it where they name its place apart, as Mistral does', () => {
    const refused = new RefusedNames();
    const detail = [
      { loc: ['body', 'messages', 1, 'reasoning_content'], msg: 'Extra inputs are not permitted' },
    ];
    const error = parseError({ message: { detail } });
    answeredAfter(refused, new ProviderFailure('status', 'p', { ...error, status: 422 }));
    expect(begun(refused).reasoningFill).toBe('none');
  });

  it.each([
    'messages[1].content[0].type: unknown variant `reasoning_content`, expected `text`',
    "Invalid value: 'reasoning_content'. Supported values are: 'text'. Extra values are not supported.",
    "Input tag 'reasoning_content' found using 'type' is unexpected",
  ])('say nothing of it where they mean a part of a content: %s', (words) => {
    const refused = new RefusedNames();
    expect(answeredAfter(refused, refusal(words))).toBe(false);
    expect(begun(refused).reasoningFill).toBeUndefined();
  });

  it.each(['reasoning_content is not allowed to be empty', 'Unknown error: reasoning_content is missing'])(
    'want it: %s',
    (words) => {
      const refused = new RefusedNames();
      answeredAfter(refused, refusal(words));
      expect(begun(refused).reasoningFill).toBe('calls');
    },
  );
});

it.each([
  ['System role not supported', ['roles.system']],
  ['Conversation roles must alternate user/assistant/user/assistant/...', ['roles.alternate']],
  [
    'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
    ['roles.alternate'],
  ],
  [
    'After the (optional) system message(s), user and assistant roles should be alternating.',
    ['roles.alternate'],
  ],
  [
    'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).',
    ['roles.alternate'],
  ],
])('roles change after: %s', (words, names) => {
  const refused = new RefusedNames();
  expect(answeredAfter(refused, refusal(words), 'chat')).toBe(true);
  expect([...begun(refused, 'chat').names]).toEqual(names);
});

it.each([
  ['Conversation roles must alternate user/assistant/user/assistant/...', true],
  ['After the optional system message, conversation roles must alternate user/assistant/...', false],
])('the system’s role goes too where alternating ones are refused again: %s %s', (words, goes) => {
  const run = begun(new RefusedNames(), 'chat');
  run.isNeededAfter(refusal(words), model);
  run.begin(model);
  expect(run.names.has('roles.system')).toBe(false);
  expect(run.isNeededAfter(refusal(words), model)).toBe(goes);
  run.begin(model);
  expect(run.names.has('roles.system')).toBe(goes);
});

it('later runs learn nothing of keys that rest, for which no call is made', () => {
  const refused = new RefusedNames();
  const run = begun(refused);
  run.isNeededAfter(beta('b-1'), model);
  run.begin(model);
  run.isNeededAfter(new ProviderFailure('status', 'p', { status: 429, isResting: true }), model);
  expect([...begun(refused).names]).toEqual([]);
});

it('later runs keep the meaning of requests, which a limit doesn’t prove refused', () => {
  const refused = new RefusedNames();
  const run = begun(refused, 'chat');
  run.isNeededAfter(refusal('System role not supported'), model);
  run.begin(model);
  run.isNeededAfter(refusal('Try again later.', 429), model);
  expect([...begun(refused, 'chat').names]).toEqual([]);
  run.begin(model);
  run.isNeededAfter({}, model);
  expect([...begun(refused, 'chat').names]).toEqual(['roles.system']);
});

it('a refusal by a template teaches no earlier cause, though its status is 500', () => {
  const refused = new RefusedNames();
  const run = begun(refused);
  run.isNeededAfter(beta('b-1'), model);
  run.begin(model);
  const failed = (message: string): ProviderFailure =>
    ProviderFailure.inAnswer('p', { status: 500, message });
  expect(run.isNeededAfter(failed('System role not supported'), model)).toBe(true);
  expect([...begun(refused).names]).toEqual([]);
  run.begin(model);
  expect(run.isNeededAfter(failed('Out of memory'), model)).toBe(false);
  expect([...begun(refused).names]).toEqual(['b-1']);
});

describe('a model without a name', () => {
  it.each([
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
  ])('stays one of the client’s vendor after an ordinary error: %s', (words) => {
    const refused = new RefusedNames();
    answeredAfter(refused, refusal(words), 'messages', profile);
    expect(begun(refused, 'messages', profile).isOfVendor).toBe(true);
  });

  it.each([
    'You invoked an unsupported model or your request did not allow prompt caching.',
    'Malformed input request: extraneous key [thinking] is not permitted',
    'thinking: Extra inputs are not permitted',
    'Thinking is not available for this model.',
    "This model doesn't support extended thinking.",
  ])('is of another vendor by refused hints: %s', (words) => {
    const refused = new RefusedNames();
    expect(answeredAfter(refused, refusal(words), 'messages', profile)).toBe(true);
    expect(begun(refused, 'messages', profile).isOfVendor).toBe(false);
  });
});

it('a count lacks what calls and counts were refused, and a call nothing that a count was', () => {
  const refused = new RefusedNames();
  expect(answeredAfter(refused, beta('counted'), null)).toBe(true);
  expect(answeredAfter(refused, beta('counted'), null)).toBe(false);
  expect(begun(refused).names.has('counted')).toBe(false);
  answeredAfter(refused, beta('called'));
  expect([...begun(refused, null).names]).toEqual(['counted', 'called']);
});

describe('the own form of a fallback', () => {
  const ofRun = {
    request: { operation: 'chat' as const },
    target: { chain: [model, other, second] as const },
  };
  const afterRefusal = (fallback: Model, words = 'role system is not supported'): boolean => {
    const run = refusalsWith(new RefusedNames(), 'chat', ofRun);
    run.begin(fallback);
    return run.isNeededAfter(refusal(words), fallback);
  };

  it('is no other than the client’s at a second deployment of the first model at its server', () => {
    const found = [model, other, second, elsewhere].map((each) => afterRefusal(each));
    expect(found).toEqual([false, true, false, true]);
  });

  it.each([
    'prompt is too long: 210000 tokens > 200000 maximum',
    "This model's maximum context length is 8192 tokens.",
    'context_length_exceeded',
    'The response was filtered by the content_filter',
    'Could not process image',
  ])('is not tried after words that hold in any form: %s', (words) => {
    expect(afterRefusal(other, words)).toBe(false);
  });

  it('is tried where the limit of the answer is refused', () => {
    const words = 'the maximum value for `max_tokens` is less than the `context_window` for this model';
    expect(afterRefusal(other, words)).toBe(true);
  });

  it('is known in later calls of a run', () => {
    const forms = new Set<Model>();
    const runs = [0, 1].map(() => refusalsWith(new RefusedNames(), 'chat', { ...ofRun, forms }));
    const found = runs.map((run) => {
      run.begin(other);
      return [run.translates, run.isNeededAfter(refusal('one'), other)];
    });
    expect(found).toEqual([
      [false, true],
      [true, false],
    ]);
  });
});
