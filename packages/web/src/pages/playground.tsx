import { useAnswer } from '../api/use-answer.ts';
import { Conversation } from '../parts/conversation.tsx';
import { Choice } from '../parts/fields.tsx';
import { Problem } from '../parts/problem.tsx';
import { useParameter } from '../shell/location.tsx';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';

const agentPrefix = 'agent:';

/** A conversation with a model or an agent. */
export function Playground() {
  const [chosen, setModel] = useParameter('model');
  const models = useAnswer('GET /v1/models', {});
  const ids = models.answer?.data.map(({ id }) => id) ?? [];
  const model = chosen === '' ? (ids[0] ?? '') : chosen;
  const mayRead = may(usePerson(), { scope: 'memory.read' });
  return (
    <>
      <Problem error={models.error} />
      <Choice
        label="Model or agent"
        value={model}
        onChange={setModel}
        options={Object.fromEntries([...new Set([...ids, model])].map((id) => [id, id]))}
      />
      {mayRead && model.startsWith(agentPrefix) ? (
        <p class="actions">
          <a class="button" href={`/app/memory/${encodeURIComponent(model.slice(agentPrefix.length))}`}>
            Memory
          </a>
        </p>
      ) : null}
      <Conversation model={model} />
    </>
  );
}
