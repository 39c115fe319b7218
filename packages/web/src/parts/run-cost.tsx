import type { Span } from '@gatehouse/contract/traces';
import { useEffect, useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds, usd } from '../format/amounts.ts';
import { Status } from './status.tsx';

const [retryMs, mostRetries] = [1_000, 15];

/** Tools, tokens and cost of a run, which arrive in traces shortly after its answer. */
export function RunCost({ id }: { id: string }) {
  const { answer: trace, reload } = useAnswer('GET /v1/traces/{id}', { params: { id } });
  const [retries, setRetries] = useState(0);
  const isOver = trace !== null && trace.status !== 'running';
  useEffect(() => {
    if (isOver || retries >= mostRetries) return;
    const timer = setTimeout(() => {
      setRetries(retries + 1);
      reload();
    }, retryMs);
    return () => clearTimeout(timer);
  }, [isOver, retries, reload]);
  if (!isOver)
    return (
      <p class="faint">{retries < mostRetries ? 'Waiting for the cost…' : 'The cost is not known yet.'}</p>
    );
  const { input_tokens: input, output_tokens: output, cost_usd: cost, duration_ms: duration } = trace;
  return (
    <>
      <ToolCalls spans={trace.spans ?? []} />
      <p class="faint">
        {count(input)} tokens in, {count(output)} out · {milliseconds(duration)} ·{' '}
        {cost === null ? 'unpriced' : usd(cost)} · <a href={`/app/traces/${id}`}>the run</a>
      </p>
    </>
  );
}

/** The tools called by the gateway in a run. */
function ToolCalls({ spans }: { spans: readonly Span[] }) {
  const calls = spans.filter(({ kind }) => kind === 'tool');
  if (calls.length === 0) return null;
  return (
    <ul class="lines" aria-label="Tools">
      {calls.map(({ id, name, status, duration_ms: duration, error }) => (
        <li key={id}>
          <code>{name}</code> <Status state={error?.type ?? status} /> {milliseconds(duration)}
        </li>
      ))}
    </ul>
  );
}
