import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readyTemplates } from '@gatehouse/contract/webhook-endpoints';
import { Templates } from './templates.ts';

const templates = new Templates();
afterAll(() => templates.stop());

const prompt = (template: string, payload: unknown): Promise<string> =>
  templates.prompt('t1', template, JSON.stringify(payload));
const payloadOf = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../test/payloads/${name}.json`, import.meta.url), 'utf8'));

describe('ready-made templates', () => {
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
    templates.prompt(tenant, slow, '{}').catch(() => 'failed'),
  );
  const ended: string[] = [];
  void Promise.all(hostile).then(() => ended.push('hostile'));
  expect(await prompt('{{ a }}', { a: 1 })).toBe('1');
  expect(ended).toEqual([]);
  expect(await Promise.all(hostile)).toEqual(Array(6).fill('failed'));
});
