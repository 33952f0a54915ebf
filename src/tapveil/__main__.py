from tapveil.cli import main

main()
