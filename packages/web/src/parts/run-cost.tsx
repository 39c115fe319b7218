import { useEffect, useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds, usd } from '../format/amounts.ts';

const [retryMs, mostRetries] = [1_000, 15];

/** Tokens and cost of a run, which arrive in traces shortly after its answer. */
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
    <p class="faint">
      {count(input)} tokens in, {count(output)} out · {milliseconds(duration)} ·{' '}
      {cost === null ? 'unpriced' : usd(cost)} · <a href={`/app/traces/${id}`}>the run</a>
    </p>
  );
}
