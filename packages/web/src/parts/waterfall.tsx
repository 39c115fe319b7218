import type { Span, Trace } from '@gatehouse/contract/traces';
import { count, milliseconds } from '../format/amounts.ts';
import { Facts } from './facts.tsx';
import { Money } from './money.tsx';
import { Status } from './status.tsx';
import { Time } from './time.tsx';

interface WaterfallProps {
  trace: Trace;
  spans: readonly Span[];
}

const ticks = [0, 0.25, 0.5, 0.75, 1];
/** A shorter step is still seen. */
const leastPercent = 0.4;

/** The steps of a run on one axis of time, each opening to its facts. */
export function Waterfall({ trace, spans }: WaterfallProps) {
  if (spans.length === 0) return null;
  const begin = Date.parse(trace.started_at);
  const startOf = ({ started_at: at }: Span): number => (at === null ? 0 : Date.parse(at) - begin);
  const ends = spans.map((span) => startOf(span) + (span.duration_ms ?? 0));
  const length = Math.max(trace.duration_ms ?? 0, ...ends, 1);
  const percent = (ms: number): number => (ms / length) * 100;
  return (
    <div class="waterfall">
      <div class="waterfall-row waterfall-axis" aria-hidden="true">
        <span />
        <span class="track">
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${tick * 100}%` }}>
              {milliseconds(Math.round(length * tick))}
            </span>
          ))}
        </span>
      </div>
      {spans.map((span) => (
        <details key={span.id}>
          <summary class="waterfall-row">
            <span class="waterfall-name" title={span.name}>
              {titleOf(span)}
            </span>
            <span class="track" aria-hidden="true">
              {span.started_at === null ? null : (
                <span
                  class={`span span-${span.kind} span-${span.status}`}
                  style={{
                    left: `${percent(startOf(span))}%`,
                    width: `${Math.max(leastPercent, percent(span.duration_ms ?? 0))}%`,
                  }}
                />
              )}
            </span>
            <span class="number">
              {span.started_at === null ? <Status state={span.status} /> : milliseconds(span.duration_ms)}
            </span>
          </summary>
          <Facts facts={factsOf(span)} />
        </details>
      ))}
    </div>
  );
}

function titleOf({ name, tool, memory }: Span): string {
  if (tool !== undefined) return `${tool.server} · ${tool.name}`;
  return memory === undefined ? name : `${name} · ${memory.passages} passages`;
}

function factsOf(span: Span) {
  const { tool, memory } = span;
  return {
    Status: <Status state={span.status} />,
    Error: span.error === null ? null : <code>{span.error.type}</code>,
    'HTTP status': span.http_status,
    Kind: span.kind,
    Started: <Time at={span.started_at} isExact otherwise="never" />,
    Duration: milliseconds(span.duration_ms),
    'First token': span.time_to_first_token_ms === null ? null : milliseconds(span.time_to_first_token_ms),
    Provider: span.provider,
    Model: span.request_model,
    'Answered by': span.response_model,
    'Tokens in': hasTokens(span) ? tokens(span.input_tokens, span.cached_input_tokens, 'cached') : null,
    'Tokens out':
      span.kind === 'llm' ? tokens(span.output_tokens, span.reasoning_tokens, 'for reasoning') : null,
    Cost: span.cost_usd === null ? null : <Money amount={span.cost_usd} />,
    ...costFacts(span.cost_details),
    'Price list': span.price_version,
    Server: tool?.server ?? null,
    Tool: tool?.name ?? null,
    Passages: memory === undefined ? null : count(memory.passages),
    Search: memory?.mode ?? null,
  };
}

const costParts = {
  'Cost of input': 'input_usd',
  'Cost of cached input': 'cached_input_usd',
  'Cost of cache writes': 'cache_write_usd',
  'Cost of output': 'output_usd',
  'Other costs': 'other_usd',
} as const;

/** The parts of a cost, without empty ones. */
function costFacts(details: Span['cost_details']) {
  if (details === null) return {};
  const parts = Object.entries(costParts).filter(([, part]) => /[1-9]/.test(details[part]));
  return Object.fromEntries(parts.map(([name, part]) => [name, <Money key={part} amount={details[part]} />]));
}

/** Whether it is a call of a model: an embedding has no tokens out. */
function hasTokens({ kind }: Span): boolean {
  return kind === 'llm' || kind === 'embedding';
}

/** A count, with the part of it in a class of its own. */
function tokens(all: number, part: number, name: string): string {
  return part === 0 ? count(all) : `${count(all)}, ${count(part)} ${name}`;
}
