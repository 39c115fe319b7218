import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
}

interface TextFieldProps extends FieldProps {
  isRequired?: true;
  maxLength?: number;
  /** Whether it is a whole number: the browser refuses anything else. */
  isWhole?: true;
}

export function TextField(props: TextFieldProps) {
  const { label, value, onChange, hint, isRequired, maxLength, isWhole } = props;
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        required={isRequired ?? false}
        maxLength={maxLength ?? 200}
        {...(isWhole && { inputMode: 'numeric', pattern: '[0-9]*' })}
        autocomplete="off"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <Hint id={id} hint={hint} />
    </p>
  );
}

interface LongTextFieldProps extends FieldProps {
  rows: number;
  isRequired?: true;
}

export function LongTextField({ label, value, onChange, hint, rows, isRequired }: LongTextFieldProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        required={isRequired ?? false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <Hint id={id} hint={hint} />
    </p>
  );
}

interface ChoiceProps extends FieldProps {
  /** Values with their labels. */
  options: Readonly<Record<string, string>>;
}

export function Choice({ label, value, onChange, options, hint }: ChoiceProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      <Hint id={id} hint={hint} />
    </p>
  );
}

/** The purpose of a field, which `aria-describedby` of the field names by `<id>-hint`. */
export function Hint({ id, hint }: { id: string; hint: string | undefined }) {
  if (hint === undefined) return null;
  return (
    <span id={`${id}-hint`} class="faint">
      {hint}
    </span>
  );
}
