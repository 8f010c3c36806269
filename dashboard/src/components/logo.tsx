/** In the colours of the text around it, for both themes. */
export function Logo({ size }: { size: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <g fill="none" stroke="var(--page)" strokeLinecap="round" strokeLinejoin="round">
        <path d="M7 22V10h8.5a4.5 4.5 0 0 1 0 9H11" strokeWidth="3" />
        <path d="M19 22h6m0 0-3-3m3 3-3 3" strokeWidth="2" />
      </g>
    </svg>
  );
}
