import { useId } from 'preact/hooks';
import { FieldError } from './fields.tsx';
import { useFieldError } from './form-error.tsx';

interface ChecksProps<Value extends string> {
  legend: string;
  /** Values with their labels. */
  options: readonly (readonly [Value, string])[];
  value: readonly Value[];
  onChange: (value: readonly Value[]) => void;
  /** The API's name of the field: errors about it are shown in it. */
  param?: string;
}

/** Several of some values. */
export function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { legend, options, value, onChange, param } = props;
  const id = useId();
  const error = useFieldError(param);
  return (
    <fieldset aria-describedby={error === null ? undefined : `${id}-error`}>
      <legend>{legend}</legend>
      <FieldError id={id} error={error} />
      {options.map(([option, text]) => (
        <label key={option} class="check">
          <input
            type="checkbox"
            checked={value.includes(option)}
            onChange={() =>
              onChange(value.includes(option) ? value.filter((one) => one !== option) : [...value, option])
            }
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
