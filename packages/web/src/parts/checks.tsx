interface ChecksProps<Value extends string> {
  legend: string;
  /** Values with their labels. */
  options: readonly (readonly [Value, string])[];
  chosen: readonly Value[];
  onChange: (chosen: readonly Value[]) => void;
}

/** Several of some values. */
export function Checks<Value extends string>({ legend, options, chosen, onChange }: ChecksProps<Value>) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {options.map(([value, text]) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={() =>
              onChange(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
            }
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
