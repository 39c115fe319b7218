import type { ComponentChildren } from 'preact';

interface FactsProps {
  /** Names with their values; a null one is left out. */
  facts: Readonly<Record<string, ComponentChildren>>;
}

/** Facts about one thing, side by side. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {Object.entries(facts).map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
