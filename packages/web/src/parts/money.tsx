import { shortUsd, usd } from '../format/amounts.ts';

interface MoneyProps {
  /** Decimal text in USD, as the API returned it. */
  amount: string;
  /** The name of the figure, for the tests that compare it with the API. */
  figure?: string;
}

/** An amount as people read it. Its exact text is the value and the title of the element. */
export function Money({ amount, figure }: MoneyProps) {
  return (
    <data class="amount" value={amount} title={usd(amount)} data-figure={figure}>
      {shortUsd(amount)}
    </data>
  );
}
