import type { OwnerModel } from '@gatehouse/contract/owner-models';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { byFigure, byText } from '../format/order.ts';
import { OrderedTable, type OrderedColumn } from '../parts/ordered-table.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';

type Row = OwnerModel['deployments'][number] & { model: OwnerModel };

/** The models of the catalogue, each deployment with the price that its calls have now. */
export function Models() {
  const known = useAnswer('GET /internal/v1/owner/models', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, has_more: hasMore }) => (
        <>
          <OrderedTable
            caption="Deployments of models"
            columns={columns}
            rows={data.flatMap((model) => model.deployments.map((deployment) => ({ ...deployment, model })))}
            keyOf={({ model, provider, upstream_model: upstream }) => `${model.id} ${provider} ${upstream}`}
            empty="The catalogue has no model."
          />
          {hasMore === true ? <p>There are more than one answer holds.</p> : null}
          <p class="faint">
            Calls are those of the last ten minutes, over all replicas, to the provider’s model.
          </p>
        </>
      )}
    </ReloadedAnswer>
  );
}

const columns: readonly OrderedColumn<Row>[] = [
  { header: 'Model', cell: ({ model }) => model.id, compare: byText(({ model }) => model.id) },
  { header: 'Aliases', cell: ({ model }) => model.aliases.join(', ') },
  { header: 'Provider', cell: ({ provider }) => provider, compare: byText(({ provider }) => provider) },
  {
    header: 'Model there',
    cell: ({ upstream_model: upstream }) => upstream,
    compare: byText(({ upstream_model: upstream }) => upstream),
  },
  {
    header: 'Weight',
    cell: ({ weight }) => count(weight),
    isNumber: true,
    compare: byFigure(({ weight }) => weight),
  },
  { header: 'Price of', cell: priceOf, compare: byText(priceOf) },
  { header: 'Version', cell: ({ price }) => (price === null ? '–' : <code>{price.version}</code>) },
  {
    header: 'Calls',
    cell: ({ calls }) => count(calls),
    isNumber: true,
    compare: byFigure(({ calls }) => calls),
  },
  {
    header: 'Without a price',
    cell: ({ unpriced_calls: calls }) => (calls === 0 ? '0' : <strong>{count(calls)}</strong>),
    isNumber: true,
    compare: byFigure(({ unpriced_calls: calls }) => calls),
  },
  { header: 'Fallbacks', cell: ({ model }) => model.fallbacks.join(', ') },
];

function priceOf({ price }: Row): string {
  return price === null ? 'none' : price.source;
}
