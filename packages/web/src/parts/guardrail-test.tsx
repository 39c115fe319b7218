import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { TestedGuardrails } from '@gatehouse/contract/guardrail-tests';
import { useState } from 'preact/hooks';
import { ActionForm } from './action-form.tsx';
import { Choice, LongTextField } from './fields.tsx';
import { guarded } from './guardrail-draft.ts';
import { Status } from './status.tsx';
import { TextBlock } from './text-block.tsx';
import { TextLines } from './text-lines.tsx';
import { useFields } from './use-fields.ts';

type Result = TestedGuardrails['guardrails'][number];

interface TestDraft {
  text: string;
  on: GuardedText;
}

const newTest: TestDraft = { text: '', on: 'user' };

/** Tries a guardrail on a text. */
export function GuardrailTest({ name }: { name: string }) {
  const { values, field } = useFields(newTest);
  const [result, setResult] = useState<Result | null>(null);
  return (
    <>
      <ActionForm
        label="Test"
        name="POST /v1/guardrails/test"
        input={() => ({ body: { ...values, guardrails: [name] } })}
        onDone={({ guardrails }) => setResult(guardrails[0] ?? null)}
      >
        <LongTextField
          label="Text"
          {...field('text')}
          rows={5}
          isRequired
          hint="It is not stored. A check that asks outside sends it there."
        />
        <Choice label="Checked like" {...field('on')} options={guarded} />
      </ActionForm>
      {result === null ? null : <TestResult result={result} />}
    </>
  );
}

function TestResult({ result: { outcome, reason, matches, text } }: { result: Result }) {
  const types = [...new Set(matches.map(({ type }) => type))];
  const counts = types.map((type) => `${type}: ${matches.filter((match) => match.type === type).length}`);
  return (
    <div role="status">
      <p>
        <Status state={outcome} /> {reason === null ? null : reason.replaceAll('_', ' ')}
      </p>
      <TextLines texts={counts} />
      {text === null ? null : <TextBlock label="The text as it goes on" text={text} />}
    </div>
  );
}
