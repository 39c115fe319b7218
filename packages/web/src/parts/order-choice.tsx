interface OrderChoiceProps {
  label: string;
  /** The headers of the columns by which rows can be in order. */
  headers: readonly string[];
  value: string;
  onChange: (header: string) => void;
}

/** Lets a person choose the order of rows. */
export function OrderChoice({ label, headers, value, onChange }: OrderChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select
        value={headers.includes(value) ? value : ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        <option value="">as returned</option>
        {headers.map((header) => (
          <option key={header} value={header}>
            {header}
          </option>
        ))}
      </select>
    </label>
  );
}
