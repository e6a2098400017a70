/** A labelled list to choose from. */
export interface ChoiceProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly { value: Value; text: string }[];
  onChoose: (value: Value) => void;
}

export function Choice<Value extends string>({ label, value, options, onChoose }: ChoiceProps<Value>) {
  return <label class="choice">{label}
    <select value={value} onChange={(event) => onChoose(event.currentTarget.value as Value)}>
      {options.map((option) => <option value={option.value} key={option.value}
          selected={option.value === value}>{option.text}</option>)}
    </select>
  </label>;
}
