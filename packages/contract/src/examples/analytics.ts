import type { Examples } from './example.ts';

const tokens = { input_tokens: 1_200, cached_input_tokens: 0, output_tokens: 340, reasoning_tokens: 0 };

const trace = {
  id: '0198c2c4-0a6b-7e25-9c81-7d3f5e2a1b64',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  name: 'chat gpt-4.1-mini',
  status: 'ok',
  channel: 'api',
  agent_id: null,
  user_id: 'ada',
  session_id: 'order-4711',
  api_key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
  request_model: 'gpt-4.1-mini',
  response_model: 'gpt-4.1-mini-2025-04-14',
  provider: 'openai',
  started_at: '2026-01-10T09:15:00.120Z',
  ended_at: '2026-01-10T09:15:01.480Z',
  duration_ms: 1_360,
  time_to_first_token_ms: 410,
  ...tokens,
  cost_usd: '0.001024000000',
  priced: true,
  usage_estimated: false,
  error: null,
  input_preview: 'Where is my order?',
  output_preview: 'It is on its way.',
};

const span = {
  id: '0198c2c4-0a6c-7f91-8d02-1e4b6a7c8d95',
  kind: 'llm',
  name: 'chat gpt-4.1-mini',
  status: 'ok',
  provider: 'openai',
  request_model: 'gpt-4.1-mini',
  response_model: 'gpt-4.1-mini-2025-04-14',
  started_at: '2026-01-10T09:15:00.131Z',
  duration_ms: 1_340,
  time_to_first_token_ms: 400,
  http_status: 200,
  ...tokens,
  cost_usd: '0.001024000000',
  usage_estimated: false,
  error: null,
};

const totals = {
  requests: 42,
  errors: 1,
  cancelled: 0,
  ...tokens,
  total_tokens: 1_540,
  tool_calls: 0,
  unique_users: 7,
  avg_duration_ms: 1_290.5,
};

const period = { from: '2026-01-10T00:00:00.000Z', to: '2026-01-11T00:00:00.000Z' };
const asOf = '2026-01-10T23:59:58.000Z';

export const analyticsExamples: Record<string, Examples> = {
  'traces.follow': {
    finished: {
      summary: 'Runs that went well',
      query: { status: 'ok', limit: 20 },
      response: {
        traces: [trace],
        next_cursor: 'eyJ2IjoxLCJhZnRlciI6NDJ9',
        has_more: false,
        server_time: '2026-01-10T09:15:03.000Z',
        poll_after_ms: 2_000,
      },
    },
  },
  'traces.get': {
    run: { summary: 'A run with one call', params: { id: trace.id }, response: { ...trace, spans: [span] } },
  },
  'usage.summary': {
    models: {
      summary: 'The last 24 hours by model',
      query: { group_by: 'model' },
      response: {
        ...period,
        as_of: asOf,
        totals,
        groups: [{ key: { model: 'gpt-4.1-mini' }, ...totals }],
        previous: null,
        truncated: false,
      },
    },
  },
  'costs.summary': {
    days: {
      summary: 'By day and user, in a time zone, beside the period before',
      query: { group_by: 'day,user', timezone: 'Europe/Berlin', compare: 'previous' },
      response: {
        currency: 'USD',
        ...period,
        as_of: asOf,
        total_usd: '0.043008000000',
        unpriced: { requests: 2, models: ['local-llama'] },
        estimated: { requests: 0, total_usd: '0.000000000000' },
        groups: [
          {
            key: { day: '2026-01-10', user: 'ada' },
            requests: 42,
            total_usd: '0.043008000000',
            unpriced_requests: 2,
          },
        ],
        previous: {
          from: '2026-01-09T00:00:00.000Z',
          to: period.from,
          total_usd: '0.039120000000',
          unpriced: { requests: 0, models: [] },
          estimated: { requests: 0, total_usd: '0.000000000000' },
        },
        truncated: false,
      },
    },
  },
};
