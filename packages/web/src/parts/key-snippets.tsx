import type { ComponentChildren } from 'preact';
import { useAnswer } from '../api/use-answer.ts';
import { snippetsOf } from '../format/snippets.ts';
import { Snippet } from './new-secret.tsx';
import { Tabs } from './tabs.tsx';

/** A key, ready to paste into the most common programs, with a model that it reaches. */
export function KeySnippets({ secret }: { secret: string }) {
  const models = useAnswer('GET /v1/models', {});
  const model = models.answer?.data[0]?.id ?? 'MODEL';
  const snippets = snippetsOf({ origin: location.origin, secret, model });
  const panels: Record<string, ComponentChildren> = {};
  for (const [program, text] of Object.entries(snippets))
    panels[program] = <Snippet key={program} label={program} text={text} />;
  return (
    <>
      <Tabs label="Programs" tabs={panels} />
      <p class="faint">
        {model === 'MODEL'
          ? 'MODEL is a model of the catalogue'
          : `Any other model works in place of ${model}`}
        , or agent:KEY for an agent.
      </p>
    </>
  );
}
