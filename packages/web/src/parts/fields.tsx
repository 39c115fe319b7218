import { useId } from 'preact/hooks';

interface FieldProps<Value = string> {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  hint?: string;
}

interface TextFieldProps extends FieldProps {
  isRequired?: boolean;
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
  isRequired?: boolean;
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

interface ChoiceProps<Value extends string> extends FieldProps<Value> {
  /** Values with their labels. */
  options: Readonly<Record<Value, string>>;
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, value, onChange, options, hint } = props;
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        // The options have no other value.
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {Object.entries<string>(options).map(([option, text]) => (
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
