import { useState } from 'preact/hooks';
import { Icon, type IconName } from '../parts/icon.tsx';
import { chooseTheme, storedTheme, themes, type Theme } from './theme.ts';

const icons: Record<Theme, IconName> = { system: 'monitor', light: 'sun', dark: 'moon' };

/** Switches between the colours of the system, light and dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
  const label = `Theme: ${theme}. Switch to ${next}`;
  return (
    <button
      type="button"
      class="quiet icon-only"
      aria-label={label}
      title={label}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <Icon name={icons[theme]} />
    </button>
  );
}
