import type { OwnerModel } from '@gatehouse/contract/owner-models';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { amountColumn, figureColumn, textColumn } from '../parts/columns.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';

type Row = OwnerModel['deployments'][number] & { model: OwnerModel };

/** The models of the catalogue, each deployment with its current price. */
export function Models() {
  const known = useAnswer('GET /internal/v1/owner/models', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, has_more: hasMore }) => (
        <>
          <DataTable
            caption="Deployments of models"
            file="models.csv"
            columns={columns}
            rows={data.flatMap((model) => model.deployments.map((deployment) => ({ ...deployment, model })))}
            keyOf={({ model, provider, upstream_model: upstream }) => `${model.id} ${provider} ${upstream}`}
            empty="The catalogue has no model."
          />
          {hasMore === true ? <p>The list is longer than one response; it has more models.</p> : null}
          <p class="faint">
            Calls are those of the last ten minutes, over all replicas, to the provider’s model.
          </p>
        </>
      )}
    </ReloadedAnswer>
  );
}

const columns: readonly DataColumn<Row>[] = [
  textColumn('Model', ({ model }) => model.id),
  names('Aliases', ({ model }) => model.aliases),
  textColumn('Provider', ({ provider }) => provider),
  textColumn('Upstream model', ({ upstream_model: upstream }) => upstream),
  figureColumn('Weight', ({ weight }) => weight),
  { ...textColumn('Price list', priceOf), value: ({ price }) => price?.source ?? null },
  amountColumn('Input (USD/Mtok)', ({ price }) => price?.usd_per_mtok.input ?? null),
  amountColumn('Cached (USD/Mtok)', ({ price }) => price?.usd_per_mtok.cached_input ?? null),
  amountColumn('Output (USD/Mtok)', ({ price }) => price?.usd_per_mtok.output ?? null),
  {
    header: 'Price version',
    cell: ({ price }) => (price === null ? '–' : <code>{price.version}</code>),
    value: ({ price }) => price?.version ?? null,
  },
  figureColumn('Calls', ({ calls }) => calls),
  {
    ...figureColumn('Unpriced calls', ({ unpriced_calls: calls }: Row) => calls),
    cell: ({ unpriced_calls: calls }) => (calls === 0 ? '0' : <strong>{count(calls)}</strong>),
  },
  names('Fallbacks', ({ model }) => model.fallbacks),
];

function names(header: string, namesIn: (row: Row) => readonly string[]): DataColumn<Row> {
  return { header, cell: (row) => namesIn(row).join(', '), value: (row) => namesIn(row).join('; ') };
}

function priceOf({ price }: Row): string {
  return price === null ? 'none' : price.source;
}
