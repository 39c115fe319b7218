# The Python of the pages in docs/, and that it prints what they show.
source ./lib.sh
python_environment docs
exec node docs-programs.ts python "$python" -B
