from bankml.cli import main

main()
