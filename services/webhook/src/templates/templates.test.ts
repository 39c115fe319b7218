import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readyTemplates } from '@gatehouse/contract/webhook-endpoints';
import { Templates } from './templates.ts';

const templates = new Templates();
afterAll(() => templates.stop());

const prompt = (template: string, payload: unknown, eventName: string | null = null): Promise<string> =>
  templates.prompt('t1', { template, json: JSON.stringify(payload), eventName });
const payloadOf = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../test/payloads/${name}.json`, import.meta.url), 'utf8'));

describe('ready-made templates', () => {
  it.each<[(typeof readyTemplates)[number], object, string]>([
    [
      'alertmanager',
      {
        ...{ receiver: 'r', status: 'firing', groupLabels: {} },
        alerts: Array(60).fill({ status: 'firing', annotations: { runbook: 'Read it. '.repeat(1_000) } }),
      },
      'Alertmanager reports for the receiver r: firing, 60 alerts',
    ],
    ['github', { issue: { title: 'Long', body: '🦊'.repeat(140_000) } }, 'GitHub reports an event.'],
    ['github', { issue: { title: 'Long', body: ` ${'🦊'.repeat(140_000)}` } }, 'GitHub reports an event.'],
  ])('%s cuts a prompt that would be too long', async (name, payload, start) => {
    const text = await prompt(name, payload);
    expect(text.slice(0, start.length)).toBe(start);
    expect(text.length).toBeGreaterThan(256 * 1_024 - 3);
    expect(text.length).toBeLessThanOrEqual(256 * 1_024);
    expect(text.at(-1)).toBe('…');
    expect(text.isWellFormed()).toBe(true);
  });

  it.each<[(typeof readyTemplates)[number], string[]]>([
    [
      'alertmanager',
      [
        'firing, 2 alerts, 3 more were left out',
        'instance="db-1"',
        'Disk of db-1 is 97 % full',
        'resolved since',
      ],
    ],
    ['grafana', ['[FIRING:1] (blue)', 'High memory usage is firing', 'B=44.23', 'grafana.example.com/d/abc']],
    ['github', ['"completed"', 'octo-org/octo-repo', 'Workflow "Build" of main: failure', 'octocat']],
    ['gitlab', ['"pipeline"', 'Pipeline 31 of master: failed', 'test/test-image: failed', 'Administrator']],
    [
      'pagerduty',
      ['incident.triggered', 'A little bump in the road', 'urgency: high', 'API Service', 'User 123'],
    ],
    [
      'sentry',
      ['"created"', 'ReferenceError: blooopy is not defined', 'project: ipsum', 'issues/1170820242'],
    ],
  ])('%s says what its documented payload says', async (name, expected) => {
    const text = await prompt(name, payloadOf(name));
    for (const part of expected) expect(text).toContain(part);
    expect(text).not.toMatch(/\{\{|\}\}|\{%|undefined|\[object/);
  });

  const repository = { full_name: 'o/r' };
  const sender = { login: 'octocat' };
  const github = { repository, sender };
  const deployment = { ref: 'main', sha: 'abc123', environment: 'production' };
  const status = { state: 'failure', description: 'Health check timed out' };
  const suite = { head_branch: 'main', conclusion: 'timed_out', app: { name: 'CodeQL' } };
  const incident = { id: 'P1', summary: 'The disk is full' };
  const of = (event_type: string, data: object) => ({ event: { event_type, occurred_at: '2026', data } });
  it.each<[string, string | null, object, string[]]>([
    ['github', 'release', { ...github, action: 'published', release: { tag_name: 'v2' } }, ['release', 'v2']],
    [
      ...(['github', 'deployment_status'] as const),
      { ...github, deployment, deployment_status: status, workflow_run: { name: 'CI', status: 'completed' } },
      ['deployment_status', 'production', 'failure', 'Health check timed out'],
    ],
    [
      'github',
      'deployment_review',
      { ...github, environment: 'production', workflow_run: { name: 'CI' } },
      ['"environment":"production"'],
    ],
    [
      'github',
      'check_suite',
      { ...github, action: 'completed', check_suite: suite },
      ['CodeQL', 'timed_out'],
    ],
    ['github', 'workflow_job', { ...github, workflow_job: { name: 'unit tests' } }, ['unit tests']],
    [
      'github',
      'star',
      { ...github, action: 'created', starred_at: '2026-01-01' },
      ['star "created"', '2026-01-01'],
    ],
    [
      'github',
      'push',
      { ...github, ref: 'refs/heads/x', deleted: true, commits: [] },
      ['refs/heads/x', '"deleted":true'],
    ],
    [
      'github',
      'organization',
      { organization: { login: 'octo' }, membership: { role: 'admin' } },
      ['of the organization octo', '"role":"admin"'],
    ],
    [
      ...(['github', 'pull_request_review'] as const),
      {
        ...github,
        pull_request: { number: 7, title: 'Mend it' },
        review: { state: 'approved', body: 'Well done' },
      },
      ['Pull request 7: Mend it', 'approved', 'Well done'],
    ],
    [
      'gitlab',
      'Job Hook',
      { object_kind: 'build', build_name: 'unit', build_status: 'failed' },
      ['"build"', '"build_status":"failed"'],
    ],
    [
      'gitlab',
      'Feature Flag Hook',
      { object_kind: 'feature_flag', object_attributes: { name: 'beta', active: true } },
      ['feature_flag', 'beta'],
    ],
    [
      'gitlab',
      'Member Hook',
      { event_name: 'user_add_to_group', user_name: 'Ann', group_name: 'Ops' },
      ['user_add_to_group', 'Ann', 'Ops'],
    ],
    [
      'gitlab',
      'Resource Access Token Hook',
      { object_attributes: { expires_at: '2026-01-26' } },
      ['Resource Access Token Hook', '2026-01-26'],
    ],
    [
      ...(['gitlab', 'Note Hook'] as const),
      {
        object_kind: 'note',
        object_attributes: { note: 'Please rebase' },
        merge_request: { title: 'Mend it' },
      },
      ['Mend it', 'Please rebase'],
    ],
    [
      'pagerduty',
      null,
      of('incident.annotated', { content: 'By hand.', incident }),
      ['incident.annotated', 'By hand.', 'The disk is full'],
    ],
    ['pagerduty', null, of('service.updated', { summary: 'Checkout' }), ['service.updated', 'Checkout']],
    [
      'pagerduty',
      null,
      of('pagey.ping', { message: 'Hello from your friend Pagey!' }),
      ['Hello from your friend Pagey!'],
    ],
    [
      'sentry',
      'metric_alert',
      { action: 'critical', data: { description_text: '1000 events' } },
      ['"critical" of metric_alert', '1000 events'],
    ],
    ['sentry', 'comment', { action: 'created', data: { comment: 'Mine' } }, ['comment', 'Mine']],
    ['grafana', null, { ruleName: 'CPU', state: 'alerting' }, ['ruleName', 'alerting']],
    ['alertmanager', null, { receiver: 'x', groups: [1] }, ['"groups":[1]']],
  ])('%s says what %s is about, without knowing it', async (name, event, payload, expected) => {
    const text = await prompt(name, payload, event);
    for (const part of expected) expect(text).toContain(part);
  });

  it('show of an event that they do not know at most some pages', async () => {
    const many = Array.from({ length: 40_000 }, (_, n) => ({ n, text: 'x'.repeat(10) }));
    for (const name of readyTemplates)
      expect((await prompt(name, { something: many, data: {}, event: {} })).length).toBeLessThan(9_000);
  });

  it('are there for every name of the contract, and hold when a payload has other fields', async () => {
    for (const name of readyTemplates) expect(await prompt(name, { unexpected: [1] })).not.toBe('');
  });

  it('leave out most of a payload with thousands of alerts', async () => {
    const { alerts } = payloadOf('alertmanager') as { alerts: object[] };
    const text = await prompt('alertmanager', { status: 'firing', alerts: Array(5_000).fill(alerts[0]) });
    expect(text.length).toBeLessThan(20_000);
    expect(text).toContain('5000 alerts');
  });
});

describe('a template', () => {
  it('reads the fields of the payload, and the whole as payload', async () => {
    expect(await prompt('{{ a.b[1] | upcase }} {{ payload.a.b[0] }}', { a: { b: ['x', 'y'] } })).toBe('Y x');
    expect(await prompt('{{ payload | size }} {{ payload[0] }}', [7, 8])).toBe('2 7');
    expect(await prompt('{{ payload | json_excerpt }}', { a: [{ b: 1 }] })).toBe('{"a":[{"b":1}]}');
    expect(await prompt('{{ event_name }}', {}, 'release')).toBe('release');
    expect(await prompt('{{ event_name }}', { event_name: 'its own' }, 'release')).toBe('its own');
  });

  it.each([
    ['an unknown filter', 'one\n{{ a | shout }}', 'at line 2'],
    ['an open tag', 'one\ntwo\n{% if a %}', 'at line 3'],
    ['an unknown tag', '{% run "ls" %}', 'at line 1'],
  ])('with %s is refused when it is given, with the line', async (_what, template, line) => {
    await expect(templates.check('t1', template)).rejects.toMatchObject({
      code: 'invalid_value',
      param: 'template',
      message: expect.stringContaining(line),
    });
  });

  it.each([
    ['a file', '{% include "/etc/passwd" %}'],
    ['a file of another kind', '{% render "package.json" %}'],
    ['a layout', '{% layout "../config.ts" %}'],
  ])('can’t read %s', async (_what, template) => {
    await expect(prompt(template, {})).rejects.toMatchObject({ code: 'template_failed' });
  });

  it('sees no prototypes', async () => {
    const text = '{{ a.constructor }}{{ a.__proto__ }}{{ payload.toString }}{{ a.length }}.';
    expect(await prompt(text, { a: {} })).toBe('.');
  });

  it.each([
    ['loops for ever', '{% for i in (1..100000) %}{% for j in (1..100000) %}{{ i }}{% endfor %}{% endfor %}'],
    ['makes a huge range', '{% assign a = (1..1000000000) %}{{ a | size }}'],
    [
      'doubles a text',
      `{% assign a = "${'x'.repeat(100)}" %}${'{% assign a = a | append: a %}'.repeat(40)}{{ a }}`,
    ],
    [
      'writes megabytes',
      '{% for i in (1..9000) %}{{ "0123456789012345678901234567890123456789" }}{% endfor %}',
    ],
    [
      'splits a long text into characters',
      `{% capture x %}{% for i in (1..9000) %}${'x'.repeat(500)}{% endfor %}{% endcapture %}{{ x | replace: "x", "y" }}`,
    ],
    ['makes a range that fills the memory', '{% assign a = (1..15000000) %}{{ a | size }}'],
    [
      'looks for a long text in another with a filter',
      `{% capture x %}{% for i in (1..1000) %}${'x'.repeat(500)}{% endfor %}{% endcapture %}{{ x | split: x | size }}`,
    ],
    [
      'looks for a long text in another with an operator',
      `{% capture x %}{% for i in (1..1000) %}${'x'.repeat(500)}{% endfor %}{% endcapture %}{% if x contains x %}yes{% endif %}`,
    ],
    ['is blank', '  {{ nothing }}\n'],
  ])('that %s fails, and harms no other', async (_what, template) => {
    await expect(prompt(template, {})).rejects.toMatchObject({ code: 'template_failed', status: 422 });
    expect(await prompt('{{ a }}', { a: 1 })).toBe('1');
  });
});

it('a tenant whose templates take seconds delays those of another by one of them, not by all', async () => {
  const slow =
    '{% assign s = "x,x,x,x,x,x,x,x" | split: "," %}' +
    '{% for i in (1..900000) %}{% assign t = s | sort | join: "" %}{% endfor %}';
  const hostile = ['t2', 't3', 't2', 't3', 't2', 't3'].map((tenant) =>
    templates.prompt(tenant, { template: slow, json: '{}', eventName: null }).catch(() => 'failed'),
  );
  const ended: string[] = [];
  void Promise.all(hostile).then(() => ended.push('hostile'));
  expect(await prompt('{{ a }}', { a: 1 })).toBe('1');
  expect(ended).toEqual([]);
  expect(await Promise.all(hostile)).toEqual(Array(6).fill('failed'));
});
