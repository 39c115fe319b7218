import type { WebhookDelivery } from '@gatehouse/contract/webhook-calls';
import { useAnswer } from '../api/use-answer.ts';
import { milliseconds } from '../format/amounts.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import type { PageProps } from './page.ts';

/** One call of a webhook: its result, and the attempts to deliver it. */
export function WebhookCall({ id }: PageProps) {
  const known = useAnswer('GET /v1/webhooks/calls/{call_id}', { params: { call_id: id } });
  return (
    <KnownAnswer known={known}>
      {(call) => (
        <>
          <p>
            <Status state={call.status} /> {call.error?.message ?? ''}
          </p>
          {call.output === null ? null : (
            <pre class="preview" tabIndex={0} aria-label="Output">
              {call.output}
            </pre>
          )}
          {call.callback_url === null ? null : (
            <p class="actions">
              <ActionButton
                label="Deliver again"
                subject="the result"
                name="POST /v1/webhooks/calls/{call_id}/redeliver"
                input={{ params: { call_id: id }, body: {} }}
                onDone={known.reload}
              />
              <button type="button" onClick={known.reload}>
                Reload
              </button>
            </p>
          )}
          {call.deliveries.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} />
          ))}
        </>
      )}
    </KnownAnswer>
  );
}

function Delivery({ delivery }: { delivery: WebhookDelivery }) {
  return (
    <section>
      <h2>
        Delivery to {delivery.url} <Status state={delivery.status} />
      </h2>
      <DataTable
        caption="Attempts"
        file={`attempts-${delivery.id}.csv`}
        columns={attempts}
        rows={delivery.attempts}
        keyOf={({ number }) => String(number)}
        empty="No attempt yet."
      />
    </section>
  );
}

/** In the order of time. */
const attempts: readonly DataColumn<WebhookDelivery['attempts'][number]>[] = [
  {
    header: 'Attempt',
    cell: ({ number }) => String(number),
    value: ({ number }) => number,
    isNumber: true,
  },
  { header: 'At', cell: ({ at }) => <Time at={at} />, value: ({ at }) => at },
  {
    header: 'Duration',
    cell: ({ duration_ms: took }) => milliseconds(took),
    value: ({ duration_ms: took }) => took,
    unit: 'ms',
    isNumber: true,
  },
  {
    header: 'Response',
    cell: ({ status, error }) => (status === null ? error : String(status)),
    value: ({ status, error }) => status ?? error,
  },
];
