import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useFieldError } from './form-error.tsx';

interface FieldProps<Value = string> {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  hint?: string | undefined;
  /** The API's name of the field: errors about it are shown beside it. */
  param?: string;
}

interface TextFieldProps extends FieldProps {
  isRequired?: boolean;
  maxLength?: number;
  /** The kind of number: the browser refuses anything else, and says so. */
  isNumber?: keyof typeof numbers;
}

const numbers = {
  whole: { inputMode: 'numeric', pattern: '[0-9]*', title: 'A whole number' },
  decimal: { inputMode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', title: 'A number, such as 0.25' },
} as const;

export function TextField(props: TextFieldProps) {
  const { value, onChange, isRequired, maxLength, isNumber } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          value={value}
          required={isRequired ?? false}
          maxLength={maxLength ?? 200}
          {...(isNumber !== undefined && numbers[isNumber])}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LongTextFieldProps extends FieldProps {
  rows: number;
  isRequired?: boolean;
}

export function LongTextField(props: LongTextFieldProps) {
  const { value, onChange, rows, isRequired } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={rows}
          value={value}
          required={isRequired ?? false}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LinesFieldProps extends FieldProps<readonly string[]> {
  rows?: number;
}

/** A list of texts, one on each line, as they are typed: `trimmed` has them for the API. */
export function LinesField({ value, onChange, rows = 3, ...field }: LinesFieldProps) {
  return (
    <LongTextField
      {...field}
      rows={rows}
      value={value.join('\n')}
      onChange={(text) => onChange(text === '' ? [] : text.split('\n'))}
    />
  );
}

interface ChoiceProps<Value extends string> extends FieldProps<Value> {
  /** Values with their labels. */
  options: Readonly<Record<Value, string>>;
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { value, onChange, options } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          // The options have no other value.
          onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
        >
          {Object.entries<string>(options).map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface FileFieldProps extends Omit<FieldProps<File | null>, 'value'> {
  /** Types of files to offer first, such as `.jsonl`. */
  accept: string;
}

export function FileField(props: FileFieldProps) {
  const { accept, onChange } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <input
          {...attributes}
          type="file"
          accept={accept}
          required
          onChange={({ currentTarget }) => onChange(currentTarget.files?.[0] ?? null)}
        />
      )}
    </Field>
  );
}

interface FrameProps extends Pick<FieldProps, 'label' | 'hint' | 'param'> {
  children: (attributes: FieldAttributes) => ComponentChildren;
}

interface FieldAttributes {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

/** The label of a field, its error and its purpose. */
function Field({ label, hint, param, children }: FrameProps) {
  const id = useId();
  const error = useFieldError(param);
  const describing = [
    ...(error === null ? [] : [`${id}-error`]),
    ...(hint === undefined ? [] : [`${id}-hint`]),
  ];
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describing.length === 0 ? undefined : describing.join(' '),
        'aria-invalid': error === null ? undefined : true,
      })}
      <FieldError id={id} error={error} />
      <Hint id={id} hint={hint} />
    </p>
  );
}

/** The error of a field, which `aria-describedby` of the field names by `<id>-error`. */
export function FieldError({ id, error }: { id: string; error: string | null }) {
  if (error === null) return null;
  return (
    <span id={`${id}-error`} class="field-error">
      {error}
    </span>
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
