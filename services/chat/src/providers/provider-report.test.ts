import { expect, it } from '@jest/globals';
import { Catalogue, deploymentName, type Model } from '../catalogue/catalogue.ts';
import { noCalls } from './call-window.ts';
import { joinedReports, type DeploymentState } from './provider-report.ts';

const deployment = Catalogue.parse({
  providers: [{ name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1' }],
  models: [{ id: 'm', provider: 'acme' }],
}).models.get('m') as Model;
const listed = [{ deployment, models: ['m', 'n'], keys: [1, 2, 3] }];
const at = Date.parse('2026-01-01T00:00:00Z');

const state = (fields: Partial<DeploymentState> = {}): DeploymentState => ({
  ...{ name: deploymentName(deployment), isOpen: false, openTenants: 0, keys: [], calls: noCalls() },
  ...fields,
});
const joined = (...states: (Partial<DeploymentState> | null)[]) =>
  listed.map(
    joinedReports(states.map((one) => ({ deployments: one === null ? [] : [state(one)], reportedAt: at }))),
  )[0];

it('is open where all replicas have it open, and open for some where some do', () => {
  const open = { isOpen: true };
  const breakers = [[], [null], [open], [open, open], [open, null], [{ openTenants: 1 }], [{}, {}]].map(
    (states) => joined(...states)?.breaker,
  );
  expect(breakers).toEqual([
    ...['closed', 'closed', 'open', 'open'],
    ...['open_for_some', 'open_for_some', 'closed'],
  ]);
});

it('shows the longest rest of each key, and a refusal before a limit', () => {
  const key = (position: number, reason: 'limited' | 'refused' | null, restsForMs: number | null) => ({
    ...{ position, reason, restsForMs },
  });
  const keys = [key(1, 'limited', 5_000), key(2, 'refused', 1_000), key(3, null, null)];
  const others = [key(1, 'limited', 9_000), key(2, 'limited', 2_000), key(3, null, null)];
  expect(joined({ keys }, { keys: others })?.keys).toEqual([
    { position: 1, status: 'resting', rests_until: '2026-01-01T00:00:09.000Z' },
    { position: 2, status: 'failing', rests_until: '2026-01-01T00:00:02.000Z' },
    { position: 3, status: 'active', rests_until: null },
  ]);
});

it('adds up the calls of all replicas, and lists deployments without any', () => {
  const calls = { calls: 2, errors: { provider_error: 1 }, outputTokens: 100, answerMs: 2_000 };
  const one = { calls: { ...noCalls(), ...calls } };
  expect(joined(one, one)).toMatchObject({
    ...{ provider: 'acme', upstream_model: 'm', models: ['m', 'n'] },
    ...{ calls: 4, errors: { provider_error: 2 }, tokens_per_second: 50 },
  });
  expect(joined()).toMatchObject({
    ...{ calls: 0, errors: {}, tokens_per_second: null },
    ...{ first_byte_ms: { p50: null, p99: null }, duration_ms: { p50: null, p99: null } },
  });
});
