interface ChecksProps<Value extends string> {
  legend: string;
  /** Values with their labels. */
  options: readonly (readonly [Value, string])[];
  value: readonly Value[];
  onChange: (value: readonly Value[]) => void;
}

/** Several of some values. */
export function Checks<Value extends string>({ legend, options, value, onChange }: ChecksProps<Value>) {
  return (
    <fieldset>
      <legend>{legend}</legend>
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
