import type { CheckType } from '@gatehouse/contract/guardrail-checks';
import type { JSX } from 'preact';
import { Checks } from './checks.tsx';
import { Choice, LinesField, LongTextField, TextField } from './fields.tsx';
import { piiTypes, secretTypes, type CheckDraft, type GuardrailDraft } from './guardrail-draft.ts';
import type { useFields } from './use-fields.ts';

type Fields = ReturnType<typeof useFields<GuardrailDraft>>;

interface CheckFieldsProps extends Fields {
  /** Whether credentials are stored. */
  isStored: boolean;
}

/** The fields of a check by its type. */
export function CheckFields(props: CheckFieldsProps) {
  const fieldsOf: Record<CheckType, () => JSX.Element> = {
    pii: () => <PiiFields {...props} />,
    secrets: () => <SecretFields {...props} />,
    patterns: () => <PatternFields {...props} />,
    moderation: () => <ModerationFields {...props} />,
    model: () => <ModelFields {...props} />,
    presidio: () => <PresidioFields {...props} />,
    webhook: () => <WebhookFields {...props} />,
  };
  return fieldsOf[props.values.type]();
}

function optionsOf<Value extends string>(labels: Readonly<Record<Value, string>>): [Value, string][] {
  // The keys of the record.
  return Object.entries(labels) as [Value, string][];
}

function PiiFields({ field }: CheckFieldsProps) {
  return (
    <>
      <Checks legend="Finds" options={optionsOf(piiTypes)} {...field('pii')} param="check.types" />
      <LinesField
        label="Countries of telephone numbers"
        {...field('regions')}
        param="check.regions"
        rows={2}
        hint="For national numbers, such as DE, one per line. International ones are found anyway"
      />
    </>
  );
}

function SecretFields({ field }: CheckFieldsProps) {
  return <Checks legend="Finds" options={optionsOf(secretTypes)} {...field('secrets')} param="check.types" />;
}

function PatternFields({ field }: CheckFieldsProps) {
  return (
    <>
      <LinesField
        label="Patterns"
        {...field('patterns')}
        param="check.patterns"
        hint="NAME: REGEX in the syntax of RE2, one per line. (?i) for any case"
      />
      <LinesField
        label="Words"
        {...field('words')}
        param="check.words"
        hint="Whole words in any case, one per line"
      />
    </>
  );
}

function ModelField({ field }: CheckFieldsProps) {
  return (
    <TextField
      label="Model"
      {...field('model')}
      param="check.model"
      isRequired
      maxLength={256}
      hint="It gets the texts, and costs what it costs"
    />
  );
}

function ModerationFields(props: CheckFieldsProps) {
  return (
    <>
      <ModelField {...props} />
      <LinesField
        label="Categories"
        {...props.field('categories')}
        param="check.categories"
        hint="NAME: LEAST SCORE, such as hate: 0.5, one per line. Empty: what the model flags"
      />
    </>
  );
}

function ModelFields(props: CheckFieldsProps) {
  const { field } = props;
  return (
    <>
      <ModelField {...props} />
      <LongTextField
        label="Instructions"
        {...field('instructions')}
        param="check.instructions"
        rows={5}
        isRequired
        hint="When a text has which label"
      />
      <LinesField
        label="Labels"
        {...field('labels')}
        param="check.labels"
        rows={2}
        hint="The answers that are a match, one per line"
      />
    </>
  );
}

function PresidioFields(props: CheckFieldsProps) {
  const { field } = props;
  return (
    <>
      <ServerFields {...props} hint="Of the analyzer, without /analyze" />
      <LinesField
        label="Entities"
        {...field('entities')}
        param="check.entities"
        rows={2}
        hint="Such as PERSON, one per line. Empty: all"
      />
      <TextField label="Language" {...field('language')} param="check.language" isRequired maxLength={12} />
      <TextField
        label="Least score"
        {...field('min_score')}
        param="check.min_score"
        isRequired
        isNumber="decimal"
      />
    </>
  );
}

function WebhookFields(props: CheckFieldsProps) {
  return (
    <>
      <ServerFields {...props} hint="A server of LiteLLM's Generic Guardrail API" />
      <LongTextField
        label="Parameters"
        {...props.field('params')}
        param="check.params"
        rows={3}
        hint="A JSON object for the server"
      />
    </>
  );
}

const logins: Readonly<Record<CheckDraft['login'], string>> = {
  none: 'None',
  bearer: 'Bearer token',
  headers: 'Headers',
};

function ServerFields({ field, values, isStored, hint }: CheckFieldsProps & { hint: string }) {
  const stored = isStored ? 'Empty: the stored one stays' : undefined;
  return (
    <>
      <TextField label="URL" {...field('url')} param="check.url" isRequired maxLength={2_000} hint={hint} />
      <Choice label="Authentication" {...field('login')} param="check.auth" options={logins} />
      {values.login === 'bearer' ? (
        <TextField
          label="Token"
          {...field('token')}
          param="check.auth.token"
          isRequired={!isStored}
          maxLength={8_192}
          hint={stored}
        />
      ) : null}
      {values.login === 'headers' ? (
        <LinesField
          label="Headers"
          {...field('headers')}
          param="check.auth.headers"
          rows={2}
          hint="Name: value, one per line. Stored values are not shown"
        />
      ) : null}
    </>
  );
}
