import { useAnswer } from '../api/use-answer.ts';
import { Conversation } from '../parts/conversation.tsx';
import { Choice } from '../parts/fields.tsx';
import { Problem } from '../parts/problem.tsx';
import { useParameter } from '../shell/location.tsx';

/** A conversation with a model or an agent. */
export function Playground() {
  const [chosen, setModel] = useParameter('model');
  const models = useAnswer('GET /v1/models', {});
  const ids = models.answer?.data.map(({ id }) => id) ?? [];
  const model = chosen === '' ? (ids[0] ?? '') : chosen;
  return (
    <>
      <Problem error={models.error} />
      <Choice
        label="Model or agent"
        value={model}
        onChange={setModel}
        options={Object.fromEntries([...new Set([...ids, model])].map((id) => [id, id]))}
      />
      <Conversation model={model} />
    </>
  );
}
