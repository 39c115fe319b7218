/** Lines in a square of 24, drawn for these pages. */
const paths = {
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  agent: 'M6 9h12v9H6zM12 9V5M9 5h6M9.5 13v1.5M14.5 13v1.5M3 12v3M21 12v3',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10 21.5h4',
  chart: 'M4 20V4M4 20h16M8.5 16v-5M13 16V7M17.5 16v-3',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  database: 'M5 6c0-3 14-3 14 0v12c0 3-14 3-14 0zM5 6c0 3 14 3 14 0M5 12c0 3 14 3 14 0',
  device: 'M4 5h16v11H4zM2.5 20h19',
  gauge: 'M4 17a8 8 0 1 1 16 0M12 17l4-6',
  key: 'M8 11a4.5 4.5 0 1 0 .01 0M11.2 12.3L20 4M16.5 7.3l3 3M13.5 10l2 2',
  layers: 'M12 3l9 5-9 5-9-5zM3 12.5l9 5 9-5M3 17l9 5 9-5',
  list: 'M8 6h13M8 12h13M8 18h13M3.5 6h.01M3.5 12h.01M3.5 18h.01',
  logout: 'M14 4H5v16h9M10 12h11M17.5 8.5L21 12l-3.5 3.5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  money: 'M3 6h18v12H3zM12 9.5v5M10 12h4M6 9v.01M18 15v.01',
  monitor: 'M3 5h18v11H3zM9 20h6M12 16v4',
  moon: 'M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 21c0-8 15-8 15 0',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4.5',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM7.5 7.5h.01M7.5 16.5h.01',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  shield: 'M12 3l8 3v6c0 5-3.5 8-8 9.5C7.5 20 4 17 4 12V6z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.8 1.8M17.2 17.2L19 19M19 5l-1.8 1.8M6.8 17.2L5 19',
  transfer: 'M4 8h14M14.5 4.5L18 8l-3.5 3.5M20 16H6M9.5 12.5L6 16l3.5 3.5',
  users:
    'M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-7 13-7 13 0M15.5 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.5 2.5 3.5 5.5',
  webhook: 'M12 8a3 3 0 1 0-2.5-1.3L6 13M6 19a3 3 0 1 0 2.8-4H9l8 0M18 21a3 3 0 1 0-2.6-4.5L12 8',
} as const;
export type IconName = keyof typeof paths;

/** A picture beside a text, which says the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark of the product. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 7h4V4h4v3h3V4h4v3h3V4h4v3h4v21h-9v-7a4 4 0 0 0-8 0v7H3z" />
    </svg>
  );
}
